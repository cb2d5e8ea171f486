/**
 * What the text messages say, and to whom.
 *
 * Guarantee: the same outbox row makes the same message. It holds the code and no URL; a name that phones would make a
 * link of is left out.
 */
import { harmless } from './templates.ts';

/** A message ready for any transport. */
export interface TextMessage {
  /** Outbox id. */
  id: string;
  /** The same for each delivery of this message, in this database or another one. */
  key: string;
  /** The number as it is kept: E.164, unless an import brought another form. */
  to: string;
  text: string;
}

export interface TextFacts {
  id: string;
  /** When the message was asked for. */
  createdAt: Date;
  to: string | null;
  orgName: string;
  code: string;
  expiresAt: Date;
}

/** Longer names would make two messages of one. */
const MAX_NAME = 40;
const MINUTE = 60_000;

/** @throws Error when there is no number to send it to */
export function composeText(facts: TextFacts): TextMessage {
  if (facts.to === null) throw new Error('The user has no phone number.');
  const name = harmless(facts.orgName);
  const from = name === '' || /\w\.\w/.test(name) ? '' : `${Array.from(name).slice(0, MAX_NAME).join('')}: `;
  const minutes = Math.round((facts.expiresAt.getTime() - facts.createdAt.getTime()) / MINUTE);
  const text = `${from}${facts.code} is the code to confirm your phone number. It works once, for ${minutes} minutes.`;
  return { id: facts.id, key: `text.${facts.id}.${facts.createdAt.getTime().toString(36)}`, to: facts.to, text };
}
