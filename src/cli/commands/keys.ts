/** `muster keys`: replacing the encryption key. It runs where the service runs, as it needs the keys. */
import type { KeyUse } from '../../operate/key-rotation.ts';
import type { Loss } from '../../operate/lost-keys.ts';
import { command, group } from '../command.ts';
import { flag, text } from '../options.ts';
import { besideDatabase, ofTheServer } from '../service/server-part.ts';
import { EXIT } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';

const status = command({
  usage: 'status',
  describe: "on the server's machine: show how many stored values need each encryption key",
  examples: [['$0 keys status', 'before you remove a key from DECRYPTION_KEYS']],
  async run({ out }, { shell }) {
    const { keyUse } = await ofTheServer(import('../../operate/key-rotation.ts'));
    showUse(out, await besideDatabase(shell.env, 'muster keys', ({ pool, secrets }) => keyUse(pool, secrets)));
  },
});

const rotate = command({
  usage: 'rotate',
  describe: "on the server's machine: encrypt all stored values with ENCRYPTION_KEY, while the service runs",
  examples: [['$0 keys rotate', 'after all processes use the new ENCRYPTION_KEY']],
  async run({ out }, { shell }) {
    const { rotateKeys } = await ofTheServer(import('../../operate/key-rotation.ts'));
    let last = 0;
    const progress = (replaced: number) => {
      if (replaced - last < 10_000) return;
      out.note(`${replaced} values are encrypted with the new key.`);
      last = replaced;
    };
    const use = await besideDatabase(shell.env, 'muster keys', ({ pool, secrets }) =>
      rotateKeys(pool, secrets, { progress }),
    );
    showUse(out, use);
    if (!use.isDone) shell.exitCode = EXIT.failed;
  },
});

const lost = command({
  usage: 'lost',
  describe: "on the server's machine: list, and with --yes give up, what a lost ENCRYPTION_KEY had encrypted",
  options: {
    yes: { ...flag('give up what is listed; it cannot be undone'), alias: 'y' },
    'remove-factor': {
      ...text(
        'id of a user whose lost second factor is removed: the password alone is then enough; `all`: of everybody',
      ),
      array: true,
      default: [] as string[],
    },
  },
  examples: [
    ['$0 keys lost', 'with a new ENCRYPTION_KEY, while the service is stopped: what cannot be decrypted'],
    ['$0 keys lost --yes', 'give it up; second factors stay required, and no code is right until they are removed'],
    ['$0 keys lost --yes --remove-factor 3201', 'let this user sign in with the password alone'],
  ],
  async run({ out }, { shell, yes, removeFactor }) {
    const { findLoss, giveUp, hasLoss } = await ofTheServer(import('../../operate/lost-keys.ts'));
    const loss = await besideDatabase(
      shell.env,
      'muster keys',
      ({ pool, secrets }) => (yes ? giveUp(pool, secrets, { removeFactors: removeFactor }) : findLoss(pool, secrets)),
      { startsDatabase: true },
    );
    out.result({ ...loss, isGivenUp: yes });
    if (!hasLoss(loss)) return out.line('Nothing is lost: every stored value can be decrypted.');
    showLoss(out, loss, { yes, removeFactor });
    if (!yes) shell.exitCode = EXIT.failed;
  },
});

/** Ids that a line names. */
const MOST_NAMED = 10;

function showLoss(out: Output, loss: Loss, { yes, removeFactor }: { yes: boolean; removeFactor: string[] }): void {
  const { keyIds, peppers, imports, passwordSources, administrators } = loss;
  if (keyIds.length > 0) out.line(`The database needs the key ${keyIds.join(', ')}, which was not given.`);
  const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0);
  const removed = removeFactor.includes('all')
    ? 'removed: the password alone is enough'
    : 'no code is right until the factor is removed';
  const rows: [what: string, count: number, then: string, ids: string[]][] = [
    ['second factors', loss.secondFactors.length, removed, loss.secondFactors],
    ['second factors being set up', loss.enrolments.length, 'begun again', loss.enrolments],
    ['recovery codes', loss.recoveryCodes.length, 'removed', loss.recoveryCodes],
    ['signing keys', loss.signingKeys.length, 'made anew; tokens that they signed end', loss.signingKeys],
    [
      'password sources',
      passwordSources.length,
      'refused there until their secret is set',
      passwordSources.map(({ id }) => id),
    ],
    [
      'identity providers',
      loss.identityProviders.length,
      'switched off until their secret is set',
      loss.identityProviders.map(({ id }) => id),
    ],
    ['visits at identity providers', loss.roundTrips.length, 'begun again', []],
    ['webhook secrets', loss.webhookSecrets.length, 'removed; the organization makes a new one', loss.webhookSecrets],
    [
      'passwords with a pepper',
      sum(peppers.map(({ users }) => users)),
      'these users choose a new password',
      peppers.map(({ importId }) => `import ${importId}`),
    ],
    [
      'users to be imported',
      sum(imports.map(({ pending }) => pending)),
      'fail with IMPORT-KEY-LOST: send them again',
      imports.map(({ importId }) => `import ${importId}`),
    ],
    ['data of failed users', sum(imports.map(({ failed }) => failed)), 'erased; it cannot be corrected any more', []],
    ['drafts of imports', loss.drafts.length, 'discarded', loss.drafts],
    ['codes that were sent', loss.codes, 'invalid; users ask for new ones', []],
  ];
  const named = rows.filter(([, count]) => count > 0);
  out.table(
    ['what', 'number', 'what becomes of it', ''],
    named.map(([what, count, then, ids]) => [what, String(count), then, listed(ids)]),
  );
  const locked = administrators.filter((id) => !removeFactor.includes('all') && !removeFactor.includes(id));
  if (locked.length > 0) {
    out.line(
      `IAM_OWNERs who cannot sign in then: ${listed(locked)}. \`--remove-factor ID\` lets one in with the password.`,
    );
  }
  out.line(
    yes ? 'This was given up. Start the service with the new key.' : 'Nothing was changed. `--yes` gives this up.',
  );
}

function listed(ids: readonly string[]): string {
  const more = ids.length - MOST_NAMED;
  return [...ids.slice(0, MOST_NAMED), ...(more > 0 ? [`${more} more (--json)`] : [])].join(', ');
}

function showUse(out: Output, use: KeyUse): void {
  const { current, values, codes, isDone } = use;
  out.result(use);
  const counts = { [current]: 0, ...values };
  out.table(
    ['key', 'values', ''],
    Object.entries(counts).map(([id, count]) => [id, String(count), roleOf(id, current)]),
  );
  if (codes.count > 0) {
    out.line(
      `${codes.count} codes may have been sent with an earlier key; the last one expires at ${codes.until?.toISOString()}.`,
    );
  }
  if (isDone) out.line('Only ENCRYPTION_KEY is needed. You can remove all other keys from DECRYPTION_KEYS.');
  else out.line('Keep all keys that are still needed in DECRYPTION_KEYS.');
}

function roleOf(id: string, current: string): string {
  if (id === current) return 'ENCRYPTION_KEY';
  return id === 'none' ? 'still needed: encrypted while there was one key' : 'still needed';
}

export const keys = group('keys', 'replace the encryption key of the service', [status, rotate, lost]);
