/** What became of users and imports, by the process that did it: sum them over all processes. */
import { END_STATES, subscribe } from '../observations.ts';
import { countBy, distributionBy, type Instrument } from './instruments.ts';

/** Seconds; imports may run for a day. */
const DURATIONS = [0.05, 0.25, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400];

export const importOutcomes: Instrument = (registry) => {
  const users = countBy(registry, {
    name: 'muster_import_users_total',
    help: 'Users of imports whose outcome was committed, dry runs excepted. A user that is retried counts again.',
    label: 'outcome',
    values: ['succeeded', 'skipped', 'failed', 'undone'],
  });
  subscribe('users', (counts) => {
    for (const [outcome, n] of Object.entries(counts)) users(outcome, n);
  });
  const ended = countBy(registry, {
    name: 'muster_imports_ended_total',
    help: 'Imports that ended, by state. An import that is resumed, retried, corrected or undone ends again.',
    label: 'state',
    values: END_STATES,
  });
  const duration = distributionBy(registry, {
    name: 'muster_import_duration_seconds',
    help: 'Time from the acceptance of an import to its end, without the time in which it was paused or had ended.',
    label: 'kind',
    values: ['bulk', 'single'],
    buckets: DURATIONS,
  });
  subscribe('importEnded', ({ state, kind, seconds }) => {
    ended(state);
    if (state !== 'undone') duration(kind, seconds);
  });
};
