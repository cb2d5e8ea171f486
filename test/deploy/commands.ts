/** The commands in a page of the documentation. */

/** The fenced blocks of this language, in their order, without their indentation. */
export function blocksOf(page: string, language: string): string[] {
  return [...page.matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)]
    .filter(([, , found]) => found === language)
    .map(([, indent = '', , block = '']) => block.replaceAll(new RegExp(`^${indent}`, 'gm'), '').trim());
}

/** The different commands between backticks, sorted. */
export function inlineOf(page: string, which: RegExp): string[] {
  const found = [...page.matchAll(/`([^`\n]+)`/g)].map(([, text]) => text as string);
  return [...new Set(found.filter((text) => which.test(text)))].sort();
}
