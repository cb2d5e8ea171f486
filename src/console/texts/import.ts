/** The texts of the page of an import. */
import * as de from './de/import.ts';
import { localized } from './language.ts';

const englishOne = {
  title: (id: string) => `Import ${id}`,
  progress: 'Progress',
  done: 'Done',
  speed: 'Speed',
  left: 'Time left',
  noWorker: 'No worker is running',
  succeeded: 'Succeeded',
  skipped: 'Skipped',
  failed: 'Failed',
  undone: 'Undone',
  open: 'Open',
  started: 'Started',
  deadline: 'Deadline',
  mails: 'Mails',
  mailsSent: 'Sent',
  mailsPending: 'To be sent',
  mailsHeld: 'Held',
  mailsFailed: 'Failed',
  chart: 'Users per second',
  chartTable: 'The chart as a table',
  chartLabel: (max: string, from: string, to: string) => `Users per second from ${from} to ${to} UTC, at most ${max}`,
  /** Under the pointer. Scripts replace words in braces. */
  chartValue: '{time} · {rate} users per second · {users} users, {failed} failed',
  gaps: 'The import stood still',
  noChart: 'The chart begins with the first user.',
  time: 'Time',
  users: 'Users',
  items: 'Users of this import',
  noItems: 'No user matches the filter.',
  noItemsYet: (rows: string) => `None of the first ${rows} users matches the filter.`,
  searchOn: 'Search the next users',
  row: 'No.',
  user: 'User',
  outcome: 'Outcome',
  anyState: 'Any state',
  search: 'Address, user name or id',
  nextItems: 'Next users',
  firstItems: 'First users',
  organizations: (number: number, counted: string) => (number === 1 ? 'Organization' : `Organizations (${counted})`),
  events: 'Who did what',
  noEvents: 'The audit log no longer has events of this import.',
  you: 'You',
  system: 'The service',
  downloads: 'Download the report',
  warnings: 'Warnings',
  ignored: (count: string) => `ignored ${count} times`,
  fields: 'Fields that are not known, and were ignored:',
  webhook: 'Webhook',
  missing: {
    import: (roles: string) => `No worker runs for: ${roles}. The import waits until one starts.`,
    mails: (mails: number, count: string) =>
      `No worker runs for: mail. ${mails === 1 ? '1 mail waits' : `${count} mails wait`} until one starts.`,
    undo: (roles: string) => `No worker runs for: ${roles}. The undo waits until one starts.`,
  },
  kept: (why: string) => `kept: ${why}`,
  changed: (fields: string) => `changed: ${fields}`,
  dryRun: 'This is a dry run: it checks every user and writes none.',
};

/** What the audit events of an import mean. */
const englishEvents: Readonly<Record<string, string>> = {
  'import.accepted': 'started the import',
  'import.paused': 'paused it',
  'import.resumed': 'resumed it',
  'import.cancelled': 'cancelled it',
  'import.retried': 'sent the failed users again',
  'import.item.corrected': 'corrected a failed user',
  'import.cause.fixed': 'corrected or left out the failed users of a cause',
  'import.mails.released': 'sent the held mails',
  'import.sign.in.mails.requested': 'asked for a mail to those who have not signed in',
  'import.undo.started': 'started the undo',
  'import.undone': 'finished the undo',
  'import.erased': 'erased the data of users that were not written',
};

export const ONE = localized(englishOne, de.ONE);
export const EVENTS = localized(englishEvents, de.EVENTS);
