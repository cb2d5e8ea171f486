/**
 * Changes an entry by a JSON merge patch (RFC 7396): fields of the patch replace those of the entry, objects are merged,
 * null removes a field, and everything else stays. Pure.
 */
type Fields = Record<string, unknown>;

/** The patched entry; neither argument is changed. An entry that is no object becomes one. */
export function mergePatch(target: unknown, patch: Fields): Fields {
  const merged: Fields = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else define(merged, name, isObject(value) ? mergePatch(merged[name], value) : value);
  }
  return merged;
}

/** The paths of the values that a patch sets or removes: `user.email.email`. */
export function patchedPaths(patch: Fields, path = ''): string[] {
  return Object.entries(patch).flatMap(([name, value]) => {
    const inner = path === '' ? name : `${path}.${name}`;
    return isObject(value) && Object.keys(value).length > 0 ? patchedPaths(value, inner) : [inner];
  });
}

/** A field named `__proto__` must not become the prototype. */
function define(object: Fields, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
