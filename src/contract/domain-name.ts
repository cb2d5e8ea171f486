/** The domain of an organization: the part of its users' login names after the `@`. */
import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { z } from 'zod';
import { nameKey, textProblem } from '../platform/fields.ts';

const LABEL_MAX = 50;
/** Labels of letters, digits, hyphens and underscores, in any script, separated by dots. */
const DOMAIN =
  /^[\p{L}\p{N}\p{M}_](?:[\p{L}\p{N}\p{M}_-]*[\p{L}\p{N}\p{M}_])?(?:\.[\p{L}\p{N}\p{M}_](?:[\p{L}\p{N}\p{M}_-]*[\p{L}\p{N}\p{M}_])?)*$/u;

/** A domain of at most 200 code points, converted to the form in which domains compare; empty means none. */
export function domainName() {
  return z
    .string('must be a string')
    .superRefine((s, ctx) => {
      const problem =
        s === ''
          ? undefined
          : (textProblem(s, 200) ?? (DOMAIN.test(s) ? undefined : 'must be a domain such as acme.example'));
      if (problem) ctx.addIssue({ code: 'custom', message: problem });
    })
    .meta({ maxLength: 200, examples: ['acme.example'] })
    .transform(nameKey);
}

/** For `Äpfel & Co.` at `http://localhost:8080` or at an IP address it is `apfel-co.localhost`. */
export function generatedDomain(name: string, baseUrl: string): string {
  const { hostname } = new URL(baseUrl);
  const host = isIP(hostname.replace(/^\[|\]$/g, '')) ? 'localhost' : hostname;
  return `${slug(name)}.${host}`;
}

/** An alternative if `domain` is taken: eight random characters more in its first label. */
export function anotherDomain(domain: string): string {
  return domain.replace('.', `-${randomBytes(4).toString('hex')}.`);
}

function slug(name: string): string {
  const ascii = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const label = ascii
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, LABEL_MAX)
    .replace(/^-+|-+$/g, '');
  return label || 'org';
}
