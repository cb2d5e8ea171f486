/** The table of states and the diagram in the README of imports say the same. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { DRAFT_STATES, IMPORT_STATES } from '../../../src/contract/import-results.ts';
import { ACTIONS, isEnded, shownState } from '../../../src/imports/entries/states.ts';

const README = readFileSync(new URL('../../../src/imports/README.md', import.meta.url), 'utf8');
const arrows = [...README.matchAll(/^ {2}(\S+) --> (\S+): (.*)$/gm)].map(([, from, to, why]) => ({ from, to, why }));

/** The actions by their names in the diagram. Corrections and mails mostly leave the state as it is; all drafts are discarded. */
const DRAWN = {
  convert: '_convert',
  check: '_check',
  start: '_start',
  addFile: 'another file',
  cancel: '_cancel',
  pause: '_pause',
  resume: '_resume',
  retry: '_retry',
  undo: '_undo',
} as const satisfies Partial<Record<keyof typeof ACTIONS, string>>;

for (const [action, name] of Object.entries(DRAWN) as [keyof typeof DRAWN, string][]) {
  it(`${name} leads from the states in which it is possible to the one of the table`, () => {
    const drawn = arrows.filter(({ why }) => why?.split(', ').includes(name));
    assert.deepEqual([...new Set(drawn.map(({ to }) => to))], [ACTIONS[action].to]);
    const from = drawn.map((arrow) => arrow.from);
    // A file that is added while files are uploaded changes no state.
    if (action === 'addFile') from.push('uploading');
    assert.deepEqual([...new Set(from)].sort(), [...ACTIONS[action].states].sort());
  });
}

it('the diagram has every state', () => {
  const drawn = new Set(arrows.flatMap(({ from, to }) => [from, to]));
  for (const state of [...DRAFT_STATES, ...IMPORT_STATES]) assert(drawn.has(state.toLowerCase()), state);
});

it('a state is terminal if only an action of a caller leads from it', () => {
  for (const name of IMPORT_STATES) {
    const state = name.toLowerCase();
    const leaves = arrows.some(({ from, why }) => from === state && !why?.startsWith('_'));
    assert.equal(isEnded({ state: shownState(state) }), !leaves && state !== 'paused', state);
  }
});
