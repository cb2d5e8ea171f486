/** Rules between the fields of a body; they are reported together with the body's other problems, not only later. */
import { z } from 'zod';

/** For a schema's check that runs even if its fields are invalid; it must accept any values. */
const atOnce = { when: ({ value }: { value: unknown }) => typeof value === 'object' && value !== null };

/** For `schema.check`: refuses `field` together with `other`. */
export function notWith<F extends string, O extends string>(field: F, other: O) {
  return z.superRefine<{ [name in F | O]?: unknown }>((body, ctx) => {
    if (body[field] === undefined || body[other] === undefined) return;
    ctx.addIssue({ code: 'custom', path: [field], message: `must not be combined with ${other}` });
  }, atOnce);
}

/** For `schema.check` of a list: refuses an element with the same values in all `fields` as an earlier one. */
export function eachOnce<F extends string>(...fields: [...F[], last: F]) {
  return z.superRefine<Array<{ [name in F]: unknown }>>((list, ctx) => {
    if (!Array.isArray(list)) return;
    const seen = new Set<string>();
    for (const [i, element] of list.entries()) {
      const values = fields.map((field) => (element as { [name in F]?: unknown } | null)?.[field]);
      if (values.some((value) => typeof value !== 'string')) continue;
      const key = JSON.stringify(values);
      if (seen.has(key)) ctx.addIssue({ code: 'custom', path: [i, fields.at(-1) as F], message: 'is given twice' });
      seen.add(key);
    }
  }, atOnce);
}
