/** The texts of the list of imports, and the names of states. */
import * as de from './de/imports.ts';
import { localized, named } from './language.ts';

const englishImports = {
  title: 'Imports',
  start: 'New import',
  state: 'State',
  all: 'All',
  organization: 'Organization',
  organizations: 'Organizations',
  anyOrganization: 'All organizations',
  filter: 'Filter',
  import: 'Import',
  /** The title of an import without files, by its organization. */
  usersOf: (organization: string) => `Users of ${organization}`,
  empty: 'New import',
  check: 'Check',
  checkOf: (id: string) => `Check of import ${id}`,
  checks: 'Checks',
  drafts: 'Drafts',
  source: 'Source',
  capped: 'The newest 10,000 imports are counted.',
  progress: 'Progress',
  rate: 'Speed',
  failed: 'Failed',
  started: 'Started',
  notStarted: 'created',
  caption: 'Imports, newest first',
  next: 'Older imports',
  first: 'Newest imports',
  dryRun: 'dry run',
  of: (done: string, total: string) => `${done} of ${total}`,
  perSecond: (rate: string) => `${rate}/s`,
  left: (time: string) => `${time} left`,
  emptyHeading: 'Nothing imported yet',
  commandLine: 'Use the command line',
  uploaded: (percent: string) => `${percent} uploaded`,
  noneHeading: 'No import matches the filter',
  showAll: 'Show all imports',
  commands: [
    'muster login',
    'muster import users.json --org <organization> --dry-run',
    'muster import users.json --org <organization> --watch',
  ],
};

/** The guides to the exports of other systems. */
const englishGuides = {
  title: 'Where are your users now?',
  hint: 'Each guide says how to get an export with password hashes, and what of it is imported.',
  of: (system: string) => `Export from ${system}`,
  /** Sources that are no system. */
  own: { csv: 'CSV of your own', ndjson: 'NDJSON of your own' },
};

/** By state, without `IMPORT_STATE_`. */
const englishImportStates: Readonly<Record<string, { name: string; look: string }>> = {
  RUNNING: { name: 'Running', look: '' },
  PAUSED: { name: 'Paused', look: 'warn' },
  UNDOING: { name: 'Undoing', look: 'warn' },
  SUCCEEDED: { name: 'Succeeded', look: 'good' },
  COMPLETED_WITH_ERRORS: { name: 'Completed with errors', look: 'bad' },
  TIMED_OUT: { name: 'Timed out', look: 'bad' },
  CANCELLED: { name: 'Cancelled', look: 'still' },
  UNDONE: { name: 'Undone', look: 'still' },
};

/** The states of a dry run, which checks users and writes none. */
const englishCheckStates: Readonly<Record<string, (problems: number, text: string) => { name: string; look: string }>> =
  {
    RUNNING: () => ({ name: 'Checking', look: '' }),
    SUCCEEDED: () => ({ name: 'Checked: nobody would fail', look: 'good' }),
    COMPLETED_WITH_ERRORS: (users, text) => ({
      name: `Checked: ${users === 1 ? '1 user' : `${text} users`} would fail`,
      look: 'still',
    }),
  };

/** The states of an import that is being prepared. */
const englishDraftStates: typeof englishImportStates = {
  UPLOADING: { name: 'Uploading', look: '' },
  CONVERTING: { name: 'Converting', look: '' },
  UNREADABLE: { name: 'Cannot be read', look: 'bad' },
  DRAFT: { name: 'Draft', look: 'still' },
  CHECKING: { name: 'Checking', look: '' },
  CHECKED: { name: 'Checked', look: 'good' },
  DISCARDED: { name: 'Discarded', look: 'still' },
};

const englishUploaded = { name: 'Uploaded', look: 'good' };

const englishItemStates: Readonly<Record<string, { name: string; look: string }>> = {
  PENDING: { name: 'Pending', look: '' },
  SUCCEEDED: { name: 'Succeeded', look: 'good' },
  SKIPPED: { name: 'Skipped', look: 'still' },
  FAILED: { name: 'Failed', look: 'bad' },
  TIMED_OUT: { name: 'Timed out', look: 'bad' },
  CANCELLED: { name: 'Cancelled', look: 'still' },
  UNDONE: { name: 'Undone', look: 'still' },
};

/** Why an undo keeps a user. */
const englishKept: Readonly<Record<string, string>> = {
  SIGNED_IN: 'signed in since',
  CHANGED: 'changed since',
  MEMBER: 'got a role since',
  DELETED: 'already deleted',
  NOT_CREATED: 'not created by this import',
};

export const IMPORTS = localized(englishImports, de.IMPORTS);
export const GUIDES = localized(englishGuides, de.GUIDES);
export const IMPORT_STATES = localized(englishImportStates, named(englishImportStates, de.IMPORT_STATES));
export const CHECK_STATES = localized(englishCheckStates, de.CHECK_STATES);
/** All files have arrived, and are not read yet. */
export const UPLOADED = localized(englishUploaded, de.UPLOADED);
export const DRAFT_STATES = localized(englishDraftStates, named(englishDraftStates, de.DRAFT_STATES));
export const ITEM_STATES = localized(englishItemStates, named(englishItemStates, de.ITEM_STATES));
export const KEPT = localized(englishKept, de.KEPT);
