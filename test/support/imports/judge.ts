/** Validates one entry of an import: returns its item, its problems and its warnings. */
import type { Item, PendingItem } from '../../../src/imports/entries/item.ts';
import { type EntryRules, toItem, USUAL_RULES } from '../../../src/imports/entries/validate.ts';
import { entry, SECRETS } from './imports.ts';

export interface Judged {
  item: Item;
  /** Invalid fields, each as `path: what is wrong`. */
  problems: string[];
  /** Paths of unknown fields, including repeated ones. */
  unknown: string[];
}

export function judge(value: unknown, rules: Partial<EntryRules> = {}): Judged {
  const unknown: string[] = [];
  const item = toItem(value, SECRETS, { unknown: (path) => unknown.push(path) }, { ...USUAL_RULES, ...rules });
  const violations = item.error?.details[1]?.fieldViolations ?? [];
  return { item, problems: violations.map((v) => `${v.field}: ${v.description}`), unknown };
}

/** A valid entry whose user has these fields in place of the defaults. */
export function problemsOf(user: Record<string, unknown>): string[] {
  return judge(entry('ann', user)).problems;
}

/** @throws Error when the entry is not valid */
export function pendingOf(value: unknown): PendingItem {
  const { item, problems } = judge(value);
  if (item.state !== 'pending') throw new Error(`not valid: ${problems.join('; ')}`);
  return item;
}
