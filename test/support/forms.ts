/** The forms of a page that was read as text, as a browser sends them. */

export interface Form {
  /** With the query. */
  action: string;
  /** Names the form on its page. */
  button: string;
  fields: Record<string, string>;
}

const plain = (text: string) => text.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#39;', "'");
const attribute = (tag: string, name: string) => {
  const [, value] = new RegExp(`\\s${name}="([^"]*)"`).exec(tag) ?? [];
  return value === undefined ? undefined : plain(value);
};

/** The forms of a page that change something, as a browser fills them in. */
export function formsIn(page: string): Form[] {
  return [...page.matchAll(/<form\b([^>]*method="post"[^>]*)>(.*?)<\/form>/gs)].map(([, head = '', content = '']) => {
    const fields: Record<string, string> = {};
    for (const [input] of content.matchAll(/<input\b[^>]*>/g)) {
      const name = attribute(input, 'name');
      const type = attribute(input, 'type') ?? 'text';
      const isOff = (type === 'radio' || type === 'checkbox') && !/\s(?:checked|required)\b/.test(input);
      if (name !== undefined && !isOff) fields[name] = attribute(input, 'value') ?? '';
    }
    for (const [, select = '', options = ''] of content.matchAll(/<select\b([^>]*)>(.*?)<\/select>/gs)) {
      const all = [...options.matchAll(/<option\b[^>]*>/g)].map(([option]) => option);
      const chosen = all.find((option) => / selected/.test(option)) ?? all[0] ?? '';
      fields[attribute(select, 'name') ?? ''] = attribute(chosen, 'value') ?? '';
    }
    for (const [, area = '', text = ''] of content.matchAll(/<textarea\b([^>]*)>(.*?)<\/textarea>/gs)) {
      fields[attribute(area, 'name') ?? ''] = plain(text.replace(/^\n/, ''));
    }
    const [, button = ''] = /<button\b[^>]*>(.*?)<\/button>/s.exec(content) ?? [];
    // Numbers change.
    const name = button.replace(/<[^>]*>/g, '').replace(/[\d,]+/g, '#');
    return { action: attribute(` ${head}`, 'action') ?? '', button: name, fields };
  });
}
