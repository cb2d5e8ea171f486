/**
 * What no code of the service may do: start a shell, run text as code, build regular expressions from input, use weak
 * hashes, ciphers or random numbers, turn off the checks of certificates, or cast the row of a statement:
 * src/platform/db/tables.ts types it, and `oneRow` fails where there is none.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { it } from 'node:test';

const ROOT = new URL('../../', import.meta.url);

interface Rule {
  what: string;
  pattern: RegExp;
  /** Files that may: whole paths, or folders that end with a slash. */
  except: readonly string[];
}

const RULES: Rule[] = [
  {
    what: 'a shell',
    pattern: /\bshell: true|\bexecSync\(|import \{[^}]*\bexec\b[^}]*\} from 'node:child_process'/,
    except: [],
  },
  { what: 'text as code', pattern: /\beval\(|new Function\(|from 'node:vm'/, except: [] },
  {
    what: 'a regular expression from anything but constants of a file',
    pattern: /^(?!(?:export )?const ).*new RegExp\(/m,
    // From the name of a scheme.
    except: ['src/passwords/schemes/ldap.ts'],
  },
  {
    what: 'MD5 or SHA-1',
    pattern: /['"](?:md5|sha1|sha-1)['"]/i,
    // Imported hashes are what they are, and so are authenticator apps.
    except: ['src/passwords/', 'src/sources/', 'src/passwords/totp-secret.ts'],
  },
  {
    what: 'another cipher',
    pattern: /createCipheriv\((?!'aes-256-gcm')|createDecipheriv\((?!'aes-256-gcm')|RSA_PKCS1_PADDING/,
    except: ['src/passwords/schemes/'],
  },
  { what: 'predictable random numbers', pattern: /Math\.random\(/, except: [] },
  {
    what: 'a cast of the row of a statement',
    pattern: /\brows\[0\] as\b/,
    // Until they are taken from the tables.
    except: ['src/imports/intake/accept.ts'],
  },
  { what: 'unchecked certificates', pattern: /rejectUnauthorized|NODE_TLS_REJECT_UNAUTHORIZED/, except: [] },
];

const FILES = ['src/', 'workers/'].flatMap((folder) =>
  readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.[jt]s$/.test(name))
    .map((name) => folder + name),
);

for (const { what, pattern, except } of RULES) {
  it(`the service does not use ${what}`, () => {
    assert(FILES.length > 300, 'the files were found');
    const found = FILES.filter((file) => !except.some((allowed) => file.startsWith(allowed))).filter((file) =>
      pattern.test(readFileSync(new URL(file, ROOT), 'utf8')),
    );
    assert.deepEqual(found, []);
  });
}
