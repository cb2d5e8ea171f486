/**
 * The check of a draft as one sentence with a colour: how many can be imported, how they sign in, and who is left.
 *
 * Guarantee: every number is one that the check counted, or a difference of two of them. Users who were corrected since
 * neither fail nor can be imported: they are a number of their own.
 */
import { type IdpType, PRESETS } from '../../contract/idp-presets.ts';
import type { Causes } from '../../contract/import-types.ts';
import type { Cause, SignInCounts } from '../../contract/sign-in.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { open, type Result } from '../shapes.ts';
import { count } from '../shell/blocks.ts';
import { VERDICT } from '../texts/decide.ts';

type Look = 'good' | 'warn' | 'bad';

/** @param causes why users failed, and how many of them were corrected since */
export function verdict(check: Result, { failed, corrected }: Pick<Causes, 'failed' | 'corrected'>): Html {
  const { skipped } = check.counts;
  const unchecked = open(check);
  const failing = failed - corrected;
  const clauses = [
    importable(check),
    ...(check.signIn ? waysOf(check.signIn) : []),
    ...one(VERDICT.skipped, isSkipped(check) ? 0 : skipped),
    ...one(VERDICT.fail, failing),
    ...one(VERDICT.corrected, corrected),
    ...one(VERDICT.unchecked, unchecked),
  ];
  return html`<p class="notice verdict ${lookOf(check, { corrected, left: failed + unchecked })}" role="status">${clauses.join('; ')}.</p>`;
}

/**
 * Red: most fail, or were not checked. Yellow: somebody is left who fails, who was corrected and not checked again, or who
 * could not sign in though nobody wants that; or nobody is imported, as all are skipped. To skip users is a choice.
 */
function lookOf({ counts, signIn }: Result, { corrected, left }: { corrected: number; left: number }): Look {
  const decided = counts.succeeded + counts.skipped + corrected;
  if (decided === 0 || decided < counts.total / 2) return 'bad';
  if (counts.succeeded === 0) return 'warn';
  const shut = signIn ? signIn.ways.NONE - blockedOf(signIn) : 0;
  return left + shut > 0 ? 'warn' : 'good';
}

/** Nobody is left who is not skipped. */
function isSkipped({ counts: { skipped, total } }: Result): boolean {
  return total > 0 && skipped === total;
}

function importable(check: Result): string {
  const { succeeded: users, total } = check.counts;
  if (isSkipped(check)) return VERDICT.allSkipped(total, count(total));
  if (users === 0) return VERDICT.nobody(total, count(total));
  return users === total ? VERDICT.all(users, count(users)) : VERDICT.some(count(users), count(total));
}

/** Users whom the old system had blocked. */
function blockedOf({ causes }: SignInCounts): number {
  return (causes.INACTIVE ?? 0) + (causes.LOCKED ?? 0);
}

function waysOf(counts: SignInCounts): string[] {
  const { ways, causesByWay } = counts;
  const none = (cause: Cause) => causesByWay.NONE?.[cause] ?? 0;
  const [held, unreachable, blocked] = [none('MAILS_HELD'), none('NO_ADDRESS'), none('INACTIVE') + none('LOCKED')];
  return [
    ...one(VERDICT.known, ways.PASSWORD + ways.PASSWORD_SOURCE),
    ...one(VERDICT.PROVIDER, ways.PROVIDER),
    ...one(VERDICT.PASSKEY, ways.PASSKEY),
    ...byMail(counts, 'MAIL_CODE'),
    ...one(VERDICT.SMS_CODE, ways.SMS_CODE),
    ...byMail(counts, 'INIT_MAIL'),
    ...one(VERDICT.held, held),
    ...one(VERDICT.blocked, blocked),
    ...one((_, n) => VERDICT.unreachable(n), unreachable),
    ...one((_, n) => VERDICT.shut(n), ways.NONE - held - unreachable - blocked),
  ];
}

/** Users who came by a provider that is not set up are named apart: a manager knows them by it. */
function byMail(counts: SignInCounts, way: 'MAIL_CODE' | 'INIT_MAIL'): string[] {
  const linked = counts.causesByWay[way]?.PROVIDER_NOT_SET_UP ?? 0;
  const used = (n: number, written: string) => VERDICT[way](n, VERDICT.used(written, providerOf(counts)));
  return [...one(used, linked), ...one(VERDICT[way], counts.ways[way] - linked)];
}

/** The provider that all of them used, by its name. */
function providerOf({ links = [], moreLinks = 0 }: SignInCounts): string {
  const [link, ...others] = links;
  if (!link || others.length > 0 || moreLinks > 0) return VERDICT.anotherProvider;
  return PRESETS[link.preset as IdpType]?.name ?? link.name;
}

/** A clause, unless it is about nobody. */
function one(clause: (n: number, written: string) => string, n: number): string[] {
  return n > 0 ? [clause(n, count(n))] : [];
}
