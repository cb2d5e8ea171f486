/**
 * How the mails of an organization look: its branding as the layout of mails takes it, and who they are from.
 *
 * Guarantee: the address of the sender stays the operator's, whatever name stands before it. Values in the sentences of
 * an organization are values: names come from imports, and are left out where they look like a link.
 */
import { type MergedBranding, mergedBranding, OWN_TEXTS, type StoredSettings } from '../../contract/branding.ts';
import type { LinkKind } from '../../contract/link-templates.ts';
import { type Palette, palettes } from '../../platform/html/palette.ts';
import type { LanguageWishes } from '../../platform/request-context.ts';
import { harmless, LARGEST_LOGO, type MailBranding, type MailColors } from './layout.ts';

/** Where the service has pictures, below the public address. */
export const LOGO_PATH = '/ui/branding';

/** What sentences may name. */
export interface SentenceFacts {
  displayName: string;
  orgName: string;
  userName: string;
}

export interface MailLook {
  /** For mails of this kind to this person. */
  brandingFor(kind: string, facts: SentenceFacts): MailBranding;
  senderName: string | undefined;
  languages: Pick<LanguageWishes, 'organization' | 'instance'>;
}

/** @param rows of the organization, if it has one, and of the instance @param baseUrl the public address */
export function mailLook(rows: readonly StoredSettings[], baseUrl: string): MailLook {
  const branding = mergedBranding(rows);
  const language = (ofOrg: boolean) => rows.find(({ orgId }) => (orgId !== null) === ofOrg)?.settings.language;
  const look = lookOf(branding, baseUrl);
  return {
    brandingFor: (kind, facts) => ({ ...look, own: ownWords(branding, kind, facts) }),
    senderName: harmless(branding.senderName ?? '') || undefined,
    languages: { organization: language(true), instance: language(false) },
  };
}

function lookOf(branding: MergedBranding, baseUrl: string): MailBranding {
  const { name, theme, cornerRadius, links = {}, supportEmail, primaryColor, backgroundColor } = branding;
  const hasColors = primaryColor !== undefined || backgroundColor !== undefined;
  const { light, dark } = palettes(branding);
  return {
    name,
    logo: logoOf(branding, baseUrl),
    theme: theme === 'auto' ? 'both' : theme,
    ...(hasColors ? { light: colorsOf(light), dark: colorsOf(dark) } : {}),
    radius: cornerRadius,
    helpUrl: links.help,
    termsUrl: links.terms,
    privacyUrl: links.privacy,
    supportAddress: supportEmail,
  };
}

function colorsOf({ page, card, accent, onAccent }: Palette): Partial<MailColors> {
  return { page, card, link: accent, button: accent, onButton: onAccent };
}

function logoOf({ logoHash, logoWidth, logoHeight, logoUrl }: MergedBranding, baseUrl: string): MailBranding['logo'] {
  if (!logoHash || !logoWidth || !logoHeight) return undefined;
  const scale = Math.min(1, LARGEST_LOGO.width / logoWidth, LARGEST_LOGO.height / logoHeight);
  const size = {
    width: Math.max(1, Math.round(logoWidth * scale)),
    height: Math.max(1, Math.round(logoHeight * scale)),
  };
  return { url: logoUrl ?? `${baseUrl}${LOGO_PATH}/${logoHash}`, ...size };
}

const TEXT_OF = new Map(
  Object.entries(OWN_TEXTS).map(([text, kind]) => [kind as LinkKind, text as keyof typeof OWN_TEXTS]),
);

/** An address that is not verified gets no display name (deliver.ts): the user name stands in its place. */
function ownWords({ texts = {} }: MergedBranding, kind: string, facts: SentenceFacts): MailBranding['own'] {
  const name = TEXT_OF.get(kind as LinkKind);
  const text = name && texts[name];
  if (!text) return undefined;
  const userName = harmless(facts.userName);
  const values = { displayName: harmless(facts.displayName) || userName, orgName: harmless(facts.orgName), userName };
  const filled = (part: string) =>
    part.replace(/\{(displayName|orgName|userName)\}/g, (_, variable: keyof SentenceFacts) => values[variable]);
  const paragraphs = text.trim().split(/\n\s*\n/);
  return {
    paragraphs: paragraphs.map(filled),
    greets: paragraphs[0]?.includes('{displayName}') ?? false,
    namesUser: text.includes('{userName}'),
  };
}
