/** A process for hasher.test.ts: hashes one password and ends on its own, without closing the hasher. */
import { openHasher } from '../../src/passwords/hasher.ts';

console.log(await openHasher({ threads: 2, bcryptCost: 4 }).hash('once'));
