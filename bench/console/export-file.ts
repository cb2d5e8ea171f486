/**
 * The file that the bench of the console uploads: a CSV of users, of any size, never held as a whole.
 *
 * Only its first slice has users; the rest repeats lines of the same length, as the service stores bytes and reads none
 * of them before it converts them.
 */
import { user, userId } from '../testbed/load.ts';

/** What the browser sends in one request. */
export const SLICE = 8 * 2 ** 20;

export interface ExportFile {
  size: number;
  /** The bytes from a position on, at most one slice of them. */
  slice(from: number): Buffer;
}

/** @param size in bytes */
export function exportFile(size: number): ExportFile {
  const head = lines(Math.min(size, SLICE));
  const rest = lines(SLICE, false);
  return {
    size,
    slice(from) {
      const end = Math.min(size - from, SLICE);
      return from === 0 ? head.subarray(0, end) : rest.subarray(0, end);
    },
  };
}

function lines(bytes: number, hasHeader = true): Buffer {
  let text = hasHeader ? 'id,login,first name,last name,mail,password hash\n' : '';
  for (let n = 0; text.length < bytes; n++) {
    const { userName, profile, email, hashedPassword } = user(n);
    const { firstName, lastName } = profile;
    text += `${[userId(n), userName, firstName, lastName, email.email, hashedPassword.value].join(',')}\n`;
  }
  return Buffer.from(text).subarray(0, bytes);
}
