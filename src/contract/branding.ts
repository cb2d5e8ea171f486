/**
 * How the pages and mails of an organization look, and those of the instance: the operations on it, and what it may
 * contain.
 *
 * Guarantee: texts are text, colours are `#rrggbb`, links lead to `https`, a picture is one (logo.ts). So nothing of it
 * is markup, a style or a header. The error names every field that is wrong.
 */
import { z } from 'zod';
import { emailAddress, language, requiredText } from '../platform/fields.ts';
import { type ChosenColors, COLOR, isShifted, palettes } from '../platform/html/palette.ts';
import { readLogo } from './logo.ts';
import { operations } from './operation.ts';
import { ANY_ROLE, IAM_OWNER_ONLY, OWNER } from './roles.ts';
import { created, createdDetails, exampleCreated } from './shapes.ts';

/** Whether pages are light, dark, or as the browser is. */
export const THEMES = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

export const BRANDING_LINKS = ['help', 'terms', 'privacy'] as const;

/** Mails that may have sentences of the organization's own before ours, by the kind of their link. */
export const OWN_TEXTS = {
  verifyEmail: 'verify_email',
  initialise: 'initialise',
  addPasskey: 'add_passkey',
  resetPassword: 'reset_password',
} as const;
export type OwnText = keyof typeof OWN_TEXTS;

/** What sentences may name. */
export const TEXT_VARIABLES = ['displayName', 'orgName', 'userName'] as const;

/** What is stored beside the picture. A field that is absent is that of the instance, or ours. */
export interface BrandingSettings extends ChosenColors {
  name?: string | undefined;
  theme?: Theme | undefined;
  /** Of buttons and fields, in pixels. */
  cornerRadius?: number | undefined;
  links?: { [link in (typeof BRANDING_LINKS)[number]]?: string | undefined } | undefined;
  supportEmail?: string | undefined;
  /** The name of the sender of mails. */
  senderName?: string | undefined;
  /** Of pages and mails, where the person wishes for none. */
  language?: string | undefined;
  texts?: { [text in OwnText]?: string | undefined } | undefined;
}

/** A branding as it is stored: of an organization, or of the instance. */
export interface StoredSettings {
  orgId: string | null;
  settings: BrandingSettings;
  logoHash: string | null;
  logoWidth?: number | null | undefined;
  logoHeight?: number | null | undefined;
  /** Of a picture that is not stored, as a data URL. */
  logoUrl?: string | undefined;
}

/** What pages and mails show. */
export interface MergedBranding extends BrandingSettings {
  /** Of the picture: where `/ui/branding/` has it. */
  logoHash?: string | undefined;
  logoWidth?: number | undefined;
  logoHeight?: number | undefined;
  logoUrl?: string | undefined;
}

/** The branding of an organization: its own, and field by field what it has not set. @param rows its own first */
export function mergedBranding(rows: readonly StoredSettings[]): MergedBranding {
  const { logoHash, logoWidth, logoHeight, logoUrl } = rows.find((row) => row.logoHash !== null) ?? {};
  const settings = rows.reduceRight<BrandingSettings>((weaker, row) => changedBranding(weaker, row.settings), {});
  return {
    ...settings,
    ...(logoHash ? { logoHash, logoWidth: logoWidth ?? undefined, logoHeight: logoHeight ?? undefined } : {}),
    ...(logoUrl === undefined ? {} : { logoUrl }),
  };
}

/** The settings with those that are given in place of theirs. */
export function changedBranding(settings: BrandingSettings, given: BrandingSettings): BrandingSettings {
  return defined({
    ...settings,
    ...defined(given),
    links: defined({ ...settings.links, ...defined(given.links ?? {}) }),
    texts: defined({ ...settings.texts, ...defined(given.texts ?? {}) }),
  });
}

function defined<T extends object>(object: T): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T;
}

export const MOST_RADIUS = 24;

/** Every field, by the name by which it is reset. */
export const BRANDING_FIELDS = [
  ...(['name', 'logo', 'primaryColor', 'backgroundColor', 'theme', 'cornerRadius'] as const),
  ...BRANDING_LINKS.map((link) => `links.${link}` as const),
  ...(['supportEmail', 'senderName', 'language'] as const),
  ...(Object.keys(OWN_TEXTS) as OwnText[]).map((text) => `texts.${text}` as const),
] as const;
export type BrandingField = (typeof BRANDING_FIELDS)[number];

/** One line: it also becomes the name of a sender. */
const line = (max: number) =>
  requiredText(max).refine((s) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(s) && s.trim() === s, 'must be one line of text');

const color = () => z.string('must be a string').regex(COLOR, 'must be a colour such as #1f4fd8').toLowerCase();

const link = () =>
  requiredText(500)
    .refine(isHttps, 'must be a URL that starts with https://')
    .meta({ format: 'uri', examples: ['https://example.com/help'] });

function isHttps(text: string): boolean {
  if (!URL.canParse(text) || /\s/.test(text)) return false;
  const { protocol, username, password } = new URL(text);
  return protocol === 'https:' && username === '' && password === '';
}

const sentences = () =>
  requiredText(2000).superRefine((text, ctx) => {
    const problem = sentenceProblem(text);
    if (problem) ctx.addIssue({ code: 'custom', message: problem });
  });

const VARIABLE = /\{([^{}]*)\}/g;

/** Mails have one link, ours: a second one would be a way to lead people elsewhere in our name. */
function sentenceProblem(text: string): string | undefined {
  const unknown = [...text.matchAll(VARIABLE)].map(([, name]) => name).find((name) => !isVariable(name));
  const known = new Intl.ListFormat('en').format(TEXT_VARIABLES.map((name) => `{${name}}`));
  if (unknown !== undefined) return `must only have the variables ${known}, not {${unknown}}`;
  if (/[{}]/.test(text.replace(VARIABLE, ''))) return `must have braces only around a variable: ${known}`;
  if (/:\/\/|\bwww\./i.test(text)) return 'must not contain a link: the mail has its own';
  return /[^\P{Cc}\n]/u.test(text) ? 'must be plain text' : undefined;
}

function isVariable(name: string | undefined): boolean {
  return (TEXT_VARIABLES as readonly string[]).includes(name ?? '');
}

const logo = () =>
  z.string('must be a string').transform((url, ctx) => {
    const read = readLogo(url);
    if (typeof read !== 'string') return read;
    ctx.addIssue({ code: 'custom', message: read });
    return z.NEVER;
  });

const radius = `must be a whole number from 0 to ${MOST_RADIUS}`;
const themes = 'must be auto, light or dark';

/** A branding as callers send it: what it omits stays, and what `reset` names is again that of the instance. */
export const brandingBody = z
  .object({
    name: line(100).optional(),
    logo: logo().optional(),
    primaryColor: color().optional(),
    backgroundColor: color().optional(),
    theme: z.enum(THEMES, themes).optional(),
    cornerRadius: z.int(radius).min(0, radius).max(MOST_RADIUS, radius).optional(),
    links: z.object({ help: link().optional(), terms: link().optional(), privacy: link().optional() }).optional(),
    supportEmail: emailAddress().optional(),
    senderName: line(100).optional(),
    language: language().min(1, 'must not be empty').optional(),
    texts: z
      .object({
        verifyEmail: sentences().optional(),
        initialise: sentences().optional(),
        addPasskey: sentences().optional(),
        resetPassword: sentences().optional(),
      })
      .optional(),
    reset: z.array(z.enum(BRANDING_FIELDS, 'must be a field of the branding, such as logo or links.help')).optional(),
  })
  .refine((given) => Object.values(given).some((value) => value !== undefined), {
    path: ['name'],
    message: 'must be given, unless the body has another field of the branding',
  })
  .meta({ minProperties: 1 });

export type GivenBranding = z.output<typeof brandingBody>;

const optional = (description: string) => z.string().optional().meta({ description });

const palette = z
  .object({
    page: z.string(),
    card: z.string(),
    accent: z.string(),
    accentStrong: z.string(),
    onAccent: z.string(),
    tint: z.string(),
  })
  .meta({ id: 'BrandingPalette', description: 'The colours of a page, each as `#rrggbb`.' });

const policy = z
  .object({
    details: createdDetails,
    name: optional('Stands on pages and in mails in place of “Muster”.'),
    logo: optional('A data URL of the picture.'),
    logoUrl: optional('Where pages and mails show the picture from.'),
    primaryColor: optional('Of links and buttons, as it was sent.'),
    backgroundColor: optional('Behind the card of a page, as it was sent.'),
    theme: z.enum(THEMES).optional().meta({ description: 'Absent: `auto`, as the browser is.' }),
    cornerRadius: z.int().optional().meta({ description: 'Of buttons and fields, in pixels.' }),
    links: z.object({ help: z.string().optional(), terms: z.string().optional(), privacy: z.string().optional() }),
    supportEmail: optional('Where people ask for help.'),
    senderName: optional('The name of the sender of mails; their address is that of `MAIL_FROM`.'),
    language: optional('Of pages and mails, where the person wishes for none that there is.'),
    texts: z
      .object({
        verifyEmail: z.string().optional(),
        initialise: z.string().optional(),
        addPasskey: z.string().optional(),
        resetPassword: z.string().optional(),
      })
      .meta({ description: 'Sentences before ours in four mails.' }),
    colors: z.object({ light: palette, dark: palette }).meta({
      description:
        'The colours that pages have: where a chosen one could not be read (under 4.5:1), it is made darker or lighter.',
    }),
    isShifted: z.boolean().meta({
      description:
        'Whether a chosen colour is shown darker or lighter, in light or, with the theme `dark`, in the dark.',
    }),
    own: z
      .array(z.enum(BRANDING_FIELDS))
      .meta({ description: 'The fields that the organization, or here the instance, has set itself.' }),
    isDefault: z.boolean().meta({ description: 'Whether this is the branding of the instance.' }),
  })
  .meta({ id: 'Branding' });

const CHOSEN = { primaryColor: '#0b7a3e', backgroundColor: '#eef6f1' };
const answers = {
  200: {
    schema: z.object({ policy }).meta({ id: 'OneBranding' }),
    example: {
      policy: {
        details: exampleCreated,
        name: 'Acme',
        ...CHOSEN,
        links: { help: 'https://acme.example/help' },
        texts: {},
        colors: palettes(CHOSEN),
        isShifted: isShifted(CHOSEN, palettes(CHOSEN)),
        own: ['name', 'primaryColor', 'backgroundColor', 'links.help'],
        isDefault: false,
      },
    },
  },
} as const;

const body = {
  schema: brandingBody,
  error: 'POLICY-BRANDING-INVALID',
  examples: {
    'a name, a colour and a link': {
      name: 'Acme',
      primaryColor: '#0b7a3e',
      links: { help: 'https://acme.example/help' },
    },
    'own sentences, and the logo of the instance': {
      texts: { initialise: 'Hello {displayName},\n\nyour account at {orgName} has moved. Please choose a password.' },
      reset: ['logo'],
    },
  },
} as const;

const CHANGED = { answers: { 200: created } } as const;

export const brandingOperations = operations({
  getBranding: {
    path: 'GET /management/v1/policies/branding',
    who: ANY_ROLE,
    of: 'org',
    summary: 'Get the branding of the organization',
    description: 'Fields that the organization has not set are those of the instance.',
    answers,
  },
  updateBranding: {
    path: 'PUT /management/v1/policies/branding',
    who: OWNER,
    of: 'org',
    summary: 'Update the branding of the organization',
    description:
      `A field that is omitted keeps its value; \`reset\` names those that are again of the instance. The logo is a PNG ` +
      `or WebP of at most 128 KiB as a data URL. Its content is checked, and metadata and text are removed. Sentences ` +
      `are plain text with the variables ${TEXT_VARIABLES.map((name) => `\`{${name}}\``).join(', ')}.`,
    body,
    errors: ['ORG-STATE'],
    ...CHANGED,
  },
  resetBranding: {
    path: 'DELETE /management/v1/policies/branding',
    who: OWNER,
    of: 'org',
    summary: 'Reset the branding of the organization to the default',
    errors: ['ORG-STATE'],
    ...CHANGED,
  },
  getDefaultBranding: {
    path: 'GET /management/v1/policies/default/branding',
    who: ANY_ROLE,
    of: 'org',
    summary: 'Get the default branding of organizations',
    description: 'The branding of the instance, which applies to fields that an organization has not set.',
    answers,
  },
  getInstanceBranding: {
    path: 'GET /admin/v1/policies/branding',
    who: IAM_OWNER_ONLY,
    of: 'instance',
    summary: 'Get the branding of the instance',
    answers,
  },
  updateDefaultBranding: {
    path: 'PUT /admin/v1/policies/branding',
    who: IAM_OWNER_ONLY,
    of: 'instance',
    summary: 'Update the branding of the instance',
    description: 'A field that is omitted keeps its value; `reset` names those that are again ours.',
    body,
    ...CHANGED,
  },
});
