/** Notes what goes wrong, so that one failure does not hide the others. */

/** What went wrong, by the name of the call. */
export const failed = {};

/** The answer of a call, or an empty one. */
export async function step(name, call) {
  try {
    return await call();
  } catch (error) {
    failed[name] = String(error?.message ?? error);
    return {};
  }
}

export function expect(what, right) {
  if (!right) failed[what] = 'is not so';
}

/** Expects the call to fail with this code. */
export async function refused(name, code, call) {
  try {
    await call();
    failed[name] = 'was not refused';
  } catch (error) {
    if (error.code !== code) failed[name] = `${error.code} ${error.message}`;
    return error;
  }
}
