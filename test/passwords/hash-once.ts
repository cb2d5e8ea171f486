import { openHasher } from '../../src/passwords/hasher.ts';

/** A process for hasher.test.ts: hashes one password and ends on its own, without closing the hasher. */

console.log(await openHasher({ threads: 2, bcryptCost: 4 }).hash('once'));
