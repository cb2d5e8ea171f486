/**
 * What takes a mail or a text message; `open-transport.ts` chooses it.
 *
 * Guarantee: `send` never throws; it says whether the mail was taken and, if not, whether trying again can help.
 */
import type { ComposedMail } from './compose.ts';
import type { TextMessage } from './text-message.ts';

export type SendResult = { sent: true } | { sent: false; permanent: boolean; reason: string };

export interface Transport {
  send(mail: ComposedMail): Promise<SendResult>;
  /** Call it when no `send` is under way. */
  close(): void;
}

/** Holds nothing open, so there is nothing to close. */
export interface TextTransport {
  send(message: TextMessage): Promise<SendResult>;
}
