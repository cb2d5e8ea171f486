/** Statements with a parameter of megabytes, which goes to the socket as it is. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { queryBytes } from '../../../src/imports/drafts/files.ts';
import { openPool, type Pool } from '../../../src/platform/db/pool.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const MIB = 2 ** 20;
const INSERT = 'insert into piece (name, n, bytes) select $1, $2, $3 where $2 > 0';

for (const isShared of [false, true]) {
  describe(`a statement with a large parameter${isShared ? ' in a session that others use too' : ''}`, () => {
    let db: TestDatabase;
    let pool: Pool;
    before(async () => {
      db = await testDatabase({ name: `bytes${isShared ? '-shared' : ''}` });
      pool = openPool(db.url, { max: 2, isShared });
      await db.pool.query('create table piece (name text, n int, bytes bytea check (length(bytes) <> 3))');
    });
    after(async () => {
      await pool.end();
      await db.drop();
    });
    const insert = (name: string, n: number, bytes: Buffer) =>
      queryBytes(pool, { text: INSERT, values: [name, n], bytes });

    it('stores every byte, of none and of megabytes, and says how many rows it wrote', async () => {
      const all = [Buffer.alloc(0), Buffer.from([0, 1, 0x5c, 0xff]), randomBytes(5 * MIB + 7)];
      for (const [i, bytes] of all.entries()) assert.equal(await insert(`ä ' \\ ${i}`, i + 1, bytes), 1);
      assert.equal(await insert('none', 0, randomBytes(MIB)), 0);
      const { rows } = await db.pool.query('select name, n, bytes from piece order by n');
      assert.deepEqual(
        rows,
        all.map((bytes, i) => ({ name: `ä ' \\ ${i}`, n: i + 1, bytes })),
      );
    });

    it('fails with the error of PostgreSQL, and the pool serves the next one', async () => {
      await assert.rejects(insert('refused', 1, Buffer.from('abc')), { code: '23514' });
      assert.deepEqual(await Promise.all([1, 2, 3].map((n) => insert('again', n, randomBytes(MIB)))), [1, 1, 1]);
    });

    it('takes no copy of the bytes', async () => {
      const bytes = randomBytes(8 * MIB);
      await insert('first', 1, bytes);
      const memory = process.memoryUsage().arrayBuffers;
      const sending = insert('second', 1, bytes);
      // The statement is sent as soon as the pool has given its connection.
      let most = 0;
      const watch = setInterval(() => {
        most = Math.max(most, process.memoryUsage().arrayBuffers);
      });
      await sending;
      clearInterval(watch);
      most = Math.max(most, process.memoryUsage().arrayBuffers);
      assert.ok(most - memory < MIB, `${most - memory} bytes more`);
    });
  });
}
