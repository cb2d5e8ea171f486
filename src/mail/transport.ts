/**
 * The interface that delivers emails and text messages; `open-transport.ts` chooses the implementation.
 *
 * Guarantee: `send` throws only what `mayBegin` throws; it says whether the mail was accepted and, if not, whether a retry can help.
 */
import type { ComposedMail } from './compose.ts';
import type { TextMessage } from './text-message.ts';

export type SendResult = { sent: true } | { sent: false; permanent: boolean; reason: string };

export interface Transport {
  /**
   * @param mayBegin asked when the mail would go out at once, after any wait for a connection; if it says no, the mail
   *   is not sent. A transport for which a second delivery makes no difference need not ask.
   */
  send(mail: ComposedMail, mayBegin?: () => Promise<boolean>): Promise<SendResult>;
  /** Call it when no `send` is in progress. */
  close(): void;
}

/** Keeps nothing open, so there is nothing to close. */
export interface TextTransport {
  send(message: TextMessage): Promise<SendResult>;
}
