/** Names of fields: paths in error messages, and the two spellings of input. */

/** `queries[0].inUserIdsQuery.userIds` */
export function fieldPath(path: readonly PropertyKey[]): string {
  let out = '';
  for (const part of path)
    out += typeof part === 'number' ? `[${part}]` : out === '' ? String(part) : `.${String(part)}`;
  return out;
}

/** `user_name` becomes `userName`; leading underscores stay. */
export function camelCase(key: string): string {
  return key.replace(/(?<=[A-Za-z0-9])_+([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
