import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { retryWhileUnavailable } from '../../../src/platform/db/faults.ts';

const shuttingDown = () => Object.assign(new Error('terminating connection'), { code: '57P01' });
const broken = () => Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
const badValue = () => Object.assign(new Error('invalid input'), { code: '22P02' });

/** Fails with each of the errors, then succeeds. */
function failing(faults: Error[]) {
  const left = [...faults];
  let calls = 0;
  return {
    calls: () => calls,
    work: async () => {
      calls++;
      const fault = left.shift();
      if (fault) throw fault;
      return 'done';
    },
  };
}

describe('waiting for a database', () => {
  it('retries until the database is back', async () => {
    const { work, calls } = failing([shuttingDown(), broken()]);
    assert.equal(await retryWhileUnavailable(work, { ms: 10_000 }), 'done');
    assert.equal(calls(), 3);
  });

  it('does not retry work that would fail again', async () => {
    const { work, calls } = failing([badValue()]);
    await assert.rejects(retryWhileUnavailable(work, { ms: 10_000 }), /invalid input/);
    assert.equal(calls(), 1);
  });

  it('gives up after its time limit, with the last error', async () => {
    const { work, calls } = failing([broken(), shuttingDown(), shuttingDown(), shuttingDown()]);
    await assert.rejects(retryWhileUnavailable(work, { ms: 20 }), /terminating/);
    assert.equal(calls(), 2);
  });

  it('ends when the process stops', async () => {
    let stopping = false;
    const { work, calls } = failing([broken(), shuttingDown()]);
    const tried = retryWhileUnavailable(
      () => {
        stopping = calls() === 1;
        return work();
      },
      { ms: 10_000, isStopping: () => stopping },
    );
    await assert.rejects(tried, /terminating/);
    assert.equal(calls(), 2);
  });
});
