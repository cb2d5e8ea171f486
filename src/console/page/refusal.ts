/** Why the API refused a form, for the form to show beside its fields. */
import { ApiError } from '../../errors.ts';

export interface Refusal {
  status: number;
  /** For the notice above the form; undefined if fields say it. */
  message: string | undefined;
  /** What is wrong with a field of the API, or with one inside it. */
  wrong(field: string): string | undefined;
}

/** What the person can correct; they get other errors as a page. */
const CORRECTABLE: readonly number[] = [400, 404, 409];

/**
 * @param shown the fields of the API that the form has; the message names what is wrong with others
 * @throws the error, if the person cannot correct it in the form
 */
export function refusalOf(error: unknown, shown: readonly string[] = []): Refusal {
  if (!(error instanceof ApiError) || !CORRECTABLE.includes(error.http)) throw error;
  const wrong = (field: string) => error.violations.find((one) => isWithin(one.field, field))?.description;
  const isShown =
    error.violations.length > 0 && error.violations.every((one) => shown.some((f) => isWithin(one.field, f)));
  return { status: error.http, message: isShown ? undefined : error.message, wrong };
}

function isWithin(path: string, field: string): boolean {
  return path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`);
}
