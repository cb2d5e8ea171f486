/** A process for hasher.test.ts: hashes one password and ends by itself, without closing anything. */
import { openHasher } from '../../src/passwords/hasher.ts';

console.log(await openHasher({ threads: 2, bcryptCost: 4 }).hash('once'));
