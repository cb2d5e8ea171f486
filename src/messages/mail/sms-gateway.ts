/**
 * Delivers text messages through an HTTP gateway (SMS_URL), which gets `POST {to, text}` as JSON.
 *
 * Guarantee: a message that the gateway accepted (2xx) is reported as sent, and no send takes longer than 15 seconds.
 *
 * On crash: between the gateway's response and our record of it, the same request is sent again, with the same
 * `Idempotency-Key`.
 */
import type { SendResult, TextTransport } from './message.ts';
import type { TextMessage } from './texts.ts';

const SEND_MS = 15_000;

/** Statuses 4xx that are temporary or concern our access, not this message: login, permission, proxy, timing, rate. */
const NOT_OF_THIS_MESSAGE = new Set([401, 403, 407, 408, 425, 429]);

/**
 * @param url `https://user:password@host/path`; user and password are sent as basic authentication
 * @param sendMs how long one send may take, in milliseconds
 */
export function openSmsGateway(url: string, sendMs = SEND_MS): TextTransport {
  const { address, headers } = addressOf(url);
  return {
    async send(message): Promise<SendResult> {
      try {
        const response = await fetch(address, { ...requestOf(message, headers), signal: AbortSignal.timeout(sendMs) });
        await response.body?.cancel();
        return response.ok ? { sent: true } : refusal(response.status);
      } catch (error) {
        return { sent: false, permanent: false, reason: `SMS gateway: ${causeOf(error)}` };
      }
    },
  };
}

function addressOf(url: string): { address: string; headers: Record<string, string> } {
  const address = new URL(url);
  const login = `${decodeURIComponent(address.username)}:${decodeURIComponent(address.password)}`;
  const headers: Record<string, string> = {};
  if (login !== ':') headers.Authorization = `Basic ${Buffer.from(login).toString('base64')}`;
  address.username = '';
  address.password = '';
  return { address: address.href, headers };
}

/** Does not follow redirects: they would lead to a gateway other than the configured one. */
function requestOf({ key, to, text }: TextMessage, login: Record<string, string>): RequestInit {
  return {
    method: 'POST',
    headers: { ...login, 'Content-Type': 'application/json', 'Idempotency-Key': key },
    body: JSON.stringify({ to, text }),
    redirect: 'manual',
  };
}

function refusal(status: number): SendResult {
  const permanent = status >= 400 && status < 500 && !NOT_OF_THIS_MESSAGE.has(status);
  return { sent: false, permanent, reason: `SMS gateway answered ${status}` };
}

/** The message `fetch failed` says nothing; the error's cause does. */
function causeOf(error: unknown): string {
  const { cause, message } = error as Error;
  const { code, message: why } = (cause ?? {}) as NodeJS.ErrnoException;
  return code ?? why ?? message;
}
