/** Characters that nobody sees are refused in names and addresses; names that look equal compare as equal. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { emailAddress, nameKey, userName } from '../../src/platform/fields.ts';
import { unseenProblem, withoutUnseen } from '../../src/platform/text/visible.ts';

const UNSEEN = [
  ...[
    '\u200b',
    '\u200e',
    '\u200f',
    '\u202e',
    '\u2060',
    '\u2066',
    '\u00ad',
    '\ufeff',
    '\u00a0',
    '\u2007',
    '\u202f',
    '\u3000',
  ],
  ...[
    '\u0007',
    '\u0085',
    '\u007f',
    '\u115f',
    '\u3164',
    '\uffa0',
    '\u{e0041}',
    '\u2028',
    '\t',
    '\n',
    '\u200d',
    '\u200c',
  ],
];

const problemsOf = (schema: ReturnType<typeof userName>, text: string) =>
  schema.safeParse(text).error?.issues.map(({ message }) => message);

test('a name or an address with a character that nobody sees is refused, and the message names it', () => {
  for (const sign of UNSEEN) {
    const code = `U+${sign.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`;
    for (const [schema, text] of [
      [userName(), `an${sign}n`],
      [emailAddress(), `an${sign}n@acme.example`],
    ] as const) {
      const [problem = 'none', ...others] = problemsOf(schema, text) ?? [];
      // A control character of ASCII is in no address at all.
      const isSaid = problem.startsWith(`must not contain the invisible character ${code}`);
      assert.ok(isSaid || (sign < '\u0080' && problem.startsWith('must be an email address')), `${code}: ${problem}`);
      assert.deepEqual(others, []);
    }
  }
});

test('names of all scripts and emoji with their joiners are accepted', () => {
  for (const name of [
    'Ann Lee',
    'می\u200cخواهم',
    'क्\u200dष',
    '👩\u200d💻',
    '❤️\u200d🔥',
    '山田 太郎',
    "O'Neil",
    'Łukasz',
  ])
    assert.equal(unseenProblem(name), undefined, JSON.stringify(name));
  assert.equal(withoutUnseen('ber\u00a0ta\u200b', ' '), 'ber ta');
  assert.equal(withoutUnseen('می\u200cخواهم\u200b', ' '), 'می\u200cخواهم');
});

test('names that look equal have one key, and others do not', () => {
  const equal: [string, string][] = [
    ['Ann', 'ann'],
    ['ann', 'a\u200bnn'],
    ['ＡＮＮ', 'ann'],
    ['ﬁona', 'fiona'],
    ['ber\u00a0ta', 'ber ta'],
    ['J\u006f\u0308rg', 'jörg'],
    ['nina@xn--mnchen-3ya.example', 'Nina@München.example'],
    ['"mai..mori"@mail.example', 'mai..mori@mail.example'],
  ];
  for (const [one, other] of equal) assert.equal(nameKey(one), nameKey(other), `${one} and ${other}`);
  const apart: [string, string][] = [
    ['ann', 'anna'],
    ['ann', 'ann '],
    ['xn--mnchen-3ya', 'münchen'],
    ['"a b"@mail.example', 'a b@mail.example'],
    ['аnn', 'ann'],
  ];
  for (const [one, other] of apart) assert.notEqual(nameKey(one), nameKey(other), `${one} and ${other}`);
});
