/**
 * The content and recipient of text messages.
 *
 * Guarantee: the same outbox row gives the same message. It holds the code and no URL; a name that phones would turn
 * into a link is left out.
 */
import { harmless } from './templates.ts';

/** A text message ready for any transport. */
export interface TextMessage {
  /** Outbox id. */
  id: string;
  /** Unique to this message, in any database; the same for each of its deliveries. */
  key: string;
  /** The number as stored: E.164, unless an import brought another form. */
  to: string;
  text: string;
}

export interface TextFacts {
  id: string;
  /** When the message was queued. */
  createdAt: Date;
  to: string | null;
  orgName: string;
  code: string;
  expiresAt: Date;
}

/** Longer names would split the message in two. */
const MAX_NAME = 40;
const MINUTE = 60_000;

/** @throws Error when the user has no phone number */
export function composeText(facts: TextFacts): TextMessage {
  if (facts.to === null) throw new Error('The user has no phone number.');
  const name = harmless(facts.orgName);
  const from = name === '' || /\w\.\w/.test(name) ? '' : `${Array.from(name).slice(0, MAX_NAME).join('')}: `;
  const minutes = Math.round((facts.expiresAt.getTime() - facts.createdAt.getTime()) / MINUTE);
  const text = `${from}${facts.code} is your code to confirm your phone number. It works once and expires in ${minutes} minutes.`;
  return { id: facts.id, key: `text.${facts.id}.${facts.createdAt.getTime().toString(36)}`, to: facts.to, text };
}
