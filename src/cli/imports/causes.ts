/** Why users of an import failed, and what a remedy does, as the service answers. */

export interface Cause {
  cause: string;
  id: string;
  field?: string;
  scheme?: string;
  message: string;
  remedies: string[];
  count: number;
  first: { index: number; userId: string; userName: string }[];
}

export interface Causes {
  failed: number;
  corrected: number;
  causes: Cause[];
  moreCauses: number;
}

export interface Fixed {
  changed: number;
  unchanged: number;
  examples?: { index: number; userId: string; userName: string; before?: unknown; after?: unknown }[];
  next: number | null;
}

export const REMEDIES = [
  'trim-email',
  'drop-hash',
  'email-as-user-name',
  'user-name-as-email',
  'keep-first',
  'leave-out',
] as const;

export function causeRow({ cause, count, field, message, first, remedies }: Cause): string[] {
  const shown = first.slice(0, 3).map(({ index }) => index);
  const more = count > shown.length ? ' …' : '';
  return [cause, String(count), field ?? '', message, `${shown.join(', ')}${more}`, remedies.join(', ')];
}

/** A value of an example; a hash appears as its scheme. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return '(none)';
  if (typeof value === 'string') return JSON.stringify(value);
  const { scheme } = value as { scheme?: string };
  return scheme ? `a hash of ${scheme}` : '(withheld)';
}
