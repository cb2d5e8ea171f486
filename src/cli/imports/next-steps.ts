/** What you can do with an import in its state: the exact commands, each with its purpose. */
import type { ImportProgress } from './progress.ts';

type Step = [command: string, what: string];

/** One line for each step, with the commands in a column of their own. */
export function nextSteps(result: ImportProgress): string[] {
  const steps = stepsFor(result);
  const widest = Math.max(0, ...steps.map(([command]) => command.length));
  return steps.map(([command, what]) => `${command.padEnd(widest)}  ${what}`);
}

function stepsFor(result: ImportProgress): Step[] {
  const { importId: id, state, counts, dryRun } = result;
  const failed: Step[] = counts.failed === 0 ? [] : [...(dryRun ? [] : [whyFailed(id)]), listFailed(id)];
  const undo: Step[] = dryRun || counts.succeeded === 0 ? [] : [undoIt(id)];
  switch (state.replace('IMPORT_STATE_', '')) {
    case 'RUNNING':
      return [
        [`muster status ${id} --watch`, 'watch progress'],
        [`muster pause ${id}`, 'pause it'],
        [`muster cancel ${id}`, 'cancel it'],
      ];
    case 'DRAFT':
      return [startIt(id), discardIt(id)];
    case 'CHECKED':
      return [startIt(id), [`muster causes ${id}`, 'list why users would fail, and the remedies'], discardIt(id)];
    case 'UPLOADING':
    case 'UNREADABLE':
      return [discardIt(id)];
    case 'PAUSED':
      return [[`muster resume ${id}`, 'resume it'], [`muster cancel ${id}`, 'cancel it'], ...undo];
    case 'UNDOING':
      return [[`muster status ${id} --watch`, 'watch progress']];
    case 'UNDONE':
      return counts.succeeded === 0
        ? []
        : [[`muster items ${id} --state succeeded`, 'list the users that it kept, and why']];
    case 'TIMED_OUT':
    case 'CANCELLED':
      return [[`muster resume ${id} --timeout 30m`, 'resume it with the remaining users'], ...failed, ...undo];
    case 'COMPLETED_WITH_ERRORS':
      return [...failed, ...(dryRun ? [] : secondTry(id)), ...undo];
    default:
      return undo;
  }
}

function startIt(id: string): Step {
  return [`muster start ${id} --watch`, 'import its users'];
}

function discardIt(id: string): Step {
  return [`muster discard ${id}`, 'drop its users'];
}

function whyFailed(id: string): Step {
  return [`muster causes ${id}`, 'list why users failed, and the remedies'];
}

function listFailed(id: string): Step {
  return [`muster report ${id} --state failed --format csv -o failed.csv`, 'list every user that failed, and why'];
}

function secondTry(id: string): Step[] {
  return [
    [
      `muster report ${id} --state failed --format dataorgs -o rest.json`,
      'write a body of them, to correct and import again',
    ],
    [`muster retry ${id} --timeout 30m`, 'retry those that conflicted with another user, or were corrected'],
  ];
}

function undoIt(id: string): Step {
  return [`muster undo ${id}`, 'remove the users that it created'];
}
