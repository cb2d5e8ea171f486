/**
 * Webhooks: the receiver accepted a genuine message of the import's last end. A message may arrive twice, with the same
 * id and body; an end never has two ids.
 */
import { type CaughtWebhook, isGenuine } from '../../test/support/receiver.ts';
import { type Problem, problem, type SentImport } from '../client/sent.ts';
import type { Rows } from './rows.ts';

const RUNS_ON = ['paused'];

/** @param secret of the organization that signs */
export function findWrongWebhooks(
  sent: SentImport,
  rows: Rows,
  messages: CaughtWebhook[],
  secret: string,
): (Problem | undefined)[] {
  if (!sent.webhook) return [];
  const { id, state } = rows.import;
  const own = messages.filter(({ body }) => body.importId === id);
  const ends = own.filter(
    ({ body, answered }) => answered === 204 && body.state === `IMPORT_STATE_${state.toUpperCase()}`,
  );
  const isTold = RUNS_ON.includes(state) || ends.some(({ body }) => body.counts.succeeded === rows.import.succeeded);
  return [
    problem(sent, 'webhooksMissing', 'no message of the end', isTold ? [] : [state]),
    problem(
      sent,
      'webhooksMissing',
      'messages that are not genuine',
      own.filter((one) => !isGenuine(secret, one)).map(idOfMessage),
    ),
    problem(
      sent,
      'webhooksDoubled',
      'ids with two bodies',
      repeated(own, idOfMessage, ({ raw }) => raw),
    ),
    problem(sent, 'webhooksDoubled', 'ends with two ids', repeated(own, endOf, idOfMessage)),
  ];
}

function idOfMessage({ headers }: CaughtWebhook): string {
  return String(headers['webhook-id']);
}

/** Each action that makes an import run again changes its sequence. */
function endOf({ body }: CaughtWebhook): string {
  return `${body.state} ${body.details.sequence}`;
}

/** The keys with more than one value. */
function repeated(
  messages: CaughtWebhook[],
  key: (one: CaughtWebhook) => string,
  value: (one: CaughtWebhook) => string,
): string[] {
  const groups = [...Map.groupBy(messages, key)];
  return groups.filter(([, same]) => new Set(same.map(value)).size > 1).map(([name]) => name);
}
