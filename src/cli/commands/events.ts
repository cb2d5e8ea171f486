/** `muster events`: searches the audit events, exports all that match, or follows new ones. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sent } from '../../contract/client.ts';
import { command, type GivenOptions, showEntries } from '../command.ts';
import { download, OUTPUT } from '../download.ts';
import { flag, limit, pastDate, text } from '../options.ts';
import { type AuditEvent, EVENT_COLUMNS, eventRow, followEvents, openOutage, PATIENCE } from '../service/events.ts';
import { findOrg } from '../service/find.ts';
import type { Session } from '../service/session.ts';
import { Interrupted, untilInterrupted } from '../terminal/failure.ts';

const OPTIONS = {
  type: { ...text('only events of this type, such as user.signin.failed; can be repeated'), array: true },
  user: text('only events about the user with this id'),
  actor: text('only what the user or client with this id did'),
  org: text('only events of this organization: id, name or domain'),
  client: text('only events with this OAuth client id'),
  address: text('only from this IP address, or network such as 192.0.2.0/24'),
  since: text('only from then on: 24h, 7d, 2026-01-31 or a full timestamp'),
  until: text('only before then, in the same forms'),
  'oldest-first': flag('oldest first; otherwise newest first'),
  limit: limit(50),
  'page-token': text('continue where a previous list ended'),
  format: { ...text('write all events: JSON lines, or a table for a spreadsheet'), choices: ['ndjson', 'csv'] },
  follow: { ...flag('show new events as they come, until Ctrl-C'), alias: 'f' },
  output: { ...OUTPUT, describe: 'file for --format; - is standard output' },
} as const;

export const events = command({
  usage: 'events',
  describe: 'search or export the audit events: sign-ins, tokens, administrative changes',
  options: OPTIONS,
  check: (parser) =>
    parser
      .check(({ limit }) => (Number.isInteger(limit) && limit > 0 && limit <= 1000) || LIMIT)
      .check(({ output, format }) => output === '-' || format !== undefined || '--output requires --format.')
      .check((options) => !options.follow || !ENDED.some((name) => options[name]) || FOLLOW),
  examples: [
    ['$0 events --follow --type user.locked', 'users who are locked from now on'],
    ['$0 events --type user.signin.failed --since 24h', 'failed sign-ins of the last day'],
    ['$0 events --user 1234 --json | jq .result', 'everything about a user'],
    ['$0 events --since 2026-01-01 --until 2026-02-01 --format csv -o january.csv', 'a month as a table'],
  ],
  async run(session, options) {
    const body = await filterOf(session, options);
    if (options.follow) return follow(session, body, options.limit);
    if (options.format === undefined)
      return list(session, { ...body, pageSize: options.limit, pageToken: options.pageToken });
    const exported = { ...body, format: options.format };
    await download(session, 'export', options.output, (signal) =>
      session.api.open('exportEvents', { body: exported, signal }),
    );
  },
});

type EventSearch = Sent<'searchEvents'>;
type EventFilter = Omit<EventSearch, 'pageSize' | 'pageToken'>;

const LIMIT = '--limit must be a whole number from 1 to 1000; --format writes all events.';

const ENDED = ['format', 'until', 'pageToken', 'oldestFirst'] as const;
const FOLLOW = '--follow cannot be used with --format, --until, --page-token or --oldest-first.';
const EVERY_MS = 2000;

/** The latest events first, then new ones; with `--json` one event a line. */
async function follow({ api, out }: Session, filter: EventSearch, limit: number): Promise<void> {
  const show = (events: AuditEvent[]) => {
    for (const event of events) {
      out.result(event);
      out.line(eventRow(event).filter(Boolean).join('  '));
    }
  };
  await untilInterrupted(new Interrupted('No longer following the events.'), async (signal) => {
    const onLost = ({ message }: Error) => out.note(`${message} Trying again …`);
    const outage = openOutage({ patience: PATIENCE, signal, onLost, advice: 'Follow again once it is back.' });
    const events = followEvents(api, filter, signal);
    let read = () => events.latest(limit);
    for (;;) {
      await read().then(
        (found) => {
          outage.over();
          show(found);
          read = events.next;
        },
        (fault) => outage.wait(fault),
      );
      await sleep(EVERY_MS, undefined, { signal }).catch(() => {
        throw signal.reason;
      });
    }
  });
}

async function filterOf({ api }: Session, options: GivenOptions<typeof OPTIONS>): Promise<EventFilter> {
  const { type: types, user: userId, actor: actorId, org, client: clientId, address, since, until } = options;
  return {
    // The service knows all types, and says so of another one.
    types: types as EventFilter['types'],
    userId,
    actorId,
    clientId,
    address,
    asc: options.oldestFirst,
    orgId: org === undefined ? undefined : await findOrg(api, org),
    from: since === undefined ? undefined : pastDate(since),
    to: until === undefined ? undefined : pastDate(until),
  };
}

async function list({ api, out }: Session, body: EventSearch): Promise<void> {
  const page = await api.call('searchEvents', { body });
  out.result(page);
  showEntries(out, page.result, { columns: EVENT_COLUMNS, row: eventRow });
  if (page.nextPageToken && !out.json) out.note(`There are more: add --page-token ${page.nextPageToken}.`);
}
