/** What can be done with an import in its state: the exact commands, each with what it is for. */
import type { ImportProgress } from './progress.ts';

type Step = [command: string, what: string];

/** Lines, the commands in a column of their own. */
export function nextSteps(result: ImportProgress): string[] {
  const steps = stepsFor(result);
  const widest = Math.max(0, ...steps.map(([command]) => command.length));
  return steps.map(([command, what]) => `${command.padEnd(widest)}  ${what}`);
}

function stepsFor(result: ImportProgress): Step[] {
  const { importId: id, state, counts, dryRun } = result;
  const failed: Step[] = counts.failed === 0 ? [] : [whyFailed(id)];
  const undo: Step[] = dryRun || counts.succeeded === 0 ? [] : [undoIt(id)];
  switch (state.replace('IMPORT_STATE_', '')) {
    case 'RUNNING':
      return [
        [`muster status ${id} --watch`, 'follows it'],
        [`muster pause ${id}`, 'lets it stand'],
        [`muster cancel ${id}`, 'ends it'],
      ];
    case 'PAUSED':
      return [[`muster resume ${id}`, 'goes on'], [`muster cancel ${id}`, 'ends it'], ...undo];
    case 'UNDOING':
      return [[`muster status ${id} --watch`, 'follows it']];
    case 'UNDONE':
      return counts.succeeded === 0 ? [] : [[`muster items ${id} --state succeeded`, 'whom it kept, and why']];
    case 'TIMED_OUT':
    case 'CANCELLED':
      return [[`muster resume ${id} --timeout 30m`, 'goes on with those who are left'], ...failed, ...undo];
    case 'COMPLETED_WITH_ERRORS':
      return [...failed, ...(dryRun ? [] : mending(id)), ...undo];
    default:
      return undo;
  }
}

function whyFailed(id: string): Step {
  return [`muster report ${id} --state failed --format csv -o failed.csv`, 'every user who failed, and why'];
}

function mending(id: string): Step[] {
  return [
    [`muster report ${id} --state failed --format dataorgs -o rest.json`, 'a body of them, to mend and import again'],
    [`muster retry ${id} --timeout 30m`, 'tries those again who conflicted with another user'],
  ];
}

function undoIt(id: string): Step {
  return [`muster undo ${id}`, 'removes the users that it created'];
}
