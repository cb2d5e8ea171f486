/** The texts of the administrators of the service. */
import * as de from './de/administrators.ts';
import { localized } from './language.ts';

const englishAdministrators = {
  title: 'Administrators',
  intro:
    'An administrator (IAM_OWNER) sees and does everything: all organizations, users, imports, clients and the service.',
  user: 'User',
  since: 'Since',
  action: 'Action',
  you: 'you',
  more: (shown: number, total: number) => `The first ${shown} of ${total} are shown.`,
  add: 'Add administrator',
  addEffect: 'They can do everything at once, also remove you.',
  userId: 'User id',
  userIdHint: 'The page of a user shows it.',
  remove: 'Remove',
  back: 'Back, change nothing',
  removeTitle: (name: string) => `Remove ${name}`,
  removeEffect: 'They are no administrator any more, at once. Roles on organizations stay.',
  removeStays: 'Their account stays, and they can still sign in.',
  removeSelf: 'This is you: you will no longer see the service, and only another administrator can add you again.',
  done: { added: 'The administrator is added.', removed: 'The administrator is removed.' },
};

export const ADMINISTRATORS = localized(englishAdministrators, de.ADMINISTRATORS);
