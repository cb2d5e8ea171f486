/** ASP.NET Identity: which base64 is recognized, and what is rejected, with the exact messages. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { hashProblem, schemeOf, verifyHash } from '../../src/passwords/registry.ts';

interface Head {
  prf?: number;
  rounds?: number;
  salt?: number;
}

function v3({ prf = 1, rounds = 1000, salt = 16 }: Head, bytes: number): string {
  const all = Buffer.alloc(13 + bytes, 7);
  all[0] = 1;
  for (const [i, value] of [prf, rounds, salt].entries()) all.writeUInt32BE(value, 1 + 4 * i);
  return all.toString('base64');
}

const REFUSED: Array<[encoded: string, problem: string]> = [
  [v3({ prf: 3 }, 48), 'the pseudo-random function is not 0 (SHA-1), 1 (SHA-256) or 2 (SHA-512)'],
  [v3({ rounds: 0 }, 48), 'rounds 0 is out of bounds (1 to 10000000)'],
  [v3({ rounds: 10_000_001 }, 48), 'rounds 10000001 is out of bounds (1 to 10000000)'],
  [v3({ rounds: 2 ** 32 - 1 }, 48), 'rounds 4294967295 is out of bounds (1 to 10000000)'],
  [v3({ salt: 15 }, 48), 'the salt is shorter than 16 bytes'],
  [v3({ salt: 0 }, 48), 'the salt is shorter than 16 bytes'],
  [v3({ salt: 2 ** 32 - 1 }, 48), 'it is cut off: the subkey is shorter than 16 bytes'],
  [v3({}, 31), 'it is cut off: the subkey is shorter than 16 bytes'],
  // "Too short" in ASP.NET's own tests.
  ['AQAAAAIAAAAyAAAAEOMwvh3+FZxqkdMBz2ekgGhwQ4A=', 'it is cut off: the subkey is shorter than 16 bytes'],
  ['AQAAAAEAACcQ', 'it is cut off'],
  ['AQAAAA', 'it is cut off'],
  [`${v3({}, 48)}=`, 'it is not base64'],
  [v3({}, 48).replace('Bw', '-w'), 'it is not base64'],
  [v3({}, 160), 'the hash is longer than 200 characters'],
];

for (const [encoded, problem] of REFUSED) {
  test(`rejects ${encoded.slice(0, 40)}: ${problem}`, () => {
    assert.equal(hashProblem(encoded), `aspnet-identity-v3: ${problem}`);
    assert.equal(verifyHash(encoded, 'my password'), false);
  });
}

test('only 49 bytes that begin with zero are version 2', () => {
  const good = 'AAABAgMEBQYHCAkKCwwNDg+ukCEMDf0yyQ29NYubggHIVY0sdEUfdyeM+E1LtH1uJg==';
  assert.equal(schemeOf(good), 'aspnet-identity-v2');
  const others = [
    // "Too short" and "extra data at end" in ASP.NET's own tests.
    'AAABAgMEBQYHCAkKCwwNDg+ukCEMDf0yyQ29NYubggE=',
    'AAABAgMEBQYHCAkKCwwNDg+ukCEMDf0yyQ29NYubggHIVY0sdEUfdyeM+E1LtH1uJgAAAAAAAAAAAAA=',
    good.replace('A', 'B'),
    good.replace('+', '-'),
    `${good}\n`,
    good.slice(0, 67),
  ];
  for (const other of others) {
    assert.equal(hashProblem(other), 'unknown scheme: it does not begin with a known identifier such as $2b$', other);
    assert.equal(verifyHash(other, 'my password'), false);
  }
});

test('a wrong bit anywhere makes the password wrong', () => {
  const right = 'AQAAAAEAACcQAAAAEAABAgMEBQYHCAkKCwwNDg+yWU7rLgUwPZb1Itsmra7cbxw2EFpwpVFIEtP+JIuUEw==';
  assert.equal(verifyHash(right, 'my password'), true);
  for (const at of [13, 28, 29, 60]) {
    const bytes = Buffer.from(right, 'base64');
    bytes[at] = (bytes[at] as number) ^ 1;
    assert.equal(verifyHash(bytes.toString('base64'), 'my password'), false, `byte ${at}`);
  }
  // After the subkey: "extra data at end" in ASP.NET's own tests is another subkey.
  const longer = 'AQAAAAIAAAAyAAAAEOMwvh3+FZxqkdMBz2ekgGhwQ4B6pZWND6zgESBuWiHwAAAAAAAAAAAA';
  assert.equal(hashProblem(longer), undefined);
  assert.equal(verifyHash(longer, 'my password'), false);
});
