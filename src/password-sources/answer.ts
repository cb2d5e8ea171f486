/** What a source says about a password. */
export type SourceAnswer =
  /** `mustChange`: the old system wants a new password from the user. */
  | { result: 'yes'; mustChange?: boolean }
  | { result: 'no' }
  /**
   * Nothing is known about the password. `reason`: for the owner of the source; never holds data of a user. `isDown`:
   * the source as a whole does not work, so that it should be left alone for a while; an answer about one user, such as
   * a lock there, must not keep the others out.
   */
  | { result: 'unavailable'; reason: string; isDown: boolean };

export const YES: SourceAnswer = { result: 'yes' };
export const YES_MUST_CHANGE: SourceAnswer = { result: 'yes', mustChange: true };
export const NO: SourceAnswer = { result: 'no' };

export function unavailable(reason: string, isDown = false): SourceAnswer {
  return { result: 'unavailable', reason, isDown };
}

/**
 * Of an answer over HTTP that says neither yes nor no. A fault (500) may come from one odd password, so that anybody
 * could keep all users out with it; 502 and more say that the source does not work.
 */
export function notTold(status: number, detail = ''): SourceAnswer {
  return unavailable(`answered ${status}${detail}`, status > 501);
}

/** What a kind of source needs for one check. */
export interface Check {
  /** The user's name at the source. */
  name: string;
  /** Never empty: directories take an empty password for an anonymous login. */
  password: string;
  /** Absent in a test by the owner of the source. */
  user?: { id: string; email: string | undefined } | undefined;
}

export interface CheckOptions {
  timeoutMs: number;
  /** Allows private addresses, and HTTP. */
  allowPrivate: boolean;
}
