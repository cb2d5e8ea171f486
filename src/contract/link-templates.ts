/**
 * The link in an email: to our own page, or to the caller's page by its URL template.
 *
 * Guarantee: ids and codes are percent-encoded so that no mail program ends the link early.
 */

export interface LinkParts {
  userId: string;
  orgId: string;
  code: string;
}

/** The purpose of a code, and so the kind of mail that carries it. */
export type MailKind =
  | 'verify_email'
  | 'initialise'
  | 'reset_password'
  | 'verify_phone'
  | 'add_passkey'
  | 'confirm_change'
  | SignInKind;
/** Codes of digits: for a sign-in, or as the second factor of one; by mail or by text message. */
export type SignInKind = 'sign_in' | 'sign_in_text' | 'factor_mail' | 'factor_text';
/** Kinds that are text messages. */
export type TextKind = 'verify_phone' | 'sign_in_text' | 'factor_text';
/** Mails that tell of a change of the account: without a code, and so without a link. */
export const NOTICE_KINDS = [
  'email_changed',
  'phone_changed',
  'password_changed',
  'link_added',
  'link_removed',
  'factor_added',
  'factor_removed',
  'factors_reset',
  'passkey_added',
  'passkey_removed',
  'recovery_codes_made',
  'recovery_code_used',
  'account_deleted',
] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];
/** A mail without a code. */
export type TellingKind = NoticeKind | 'how_to_sign_in';
const NOTICES: ReadonlySet<string> = new Set(NOTICE_KINDS);

export function isNotice(kind: MailKind | TellingKind): kind is NoticeKind {
  return NOTICES.has(kind);
}

/** Every kind of mail. */
export const PREVIEW_KINDS = [
  'verify_email',
  'initialise',
  'add_passkey',
  'reset_password',
  'how_to_sign_in',
  'sign_in',
  'factor_mail',
  'confirm_change',
  ...NOTICE_KINDS,
] as const;
export type PreviewKind = (typeof PREVIEW_KINDS)[number];

/** Kinds that carry a link; the user types the codes of the others: of text messages, and for a sign-in. */
export type LinkKind = Exclude<MailKind, TextKind | SignInKind | 'confirm_change'>;

/** Paths of the pages that the links open, below the public address. */
export const PAGE_PATHS: Record<LinkKind, string> = {
  verify_email: '/ui/verify',
  initialise: '/ui/init',
  reset_password: '/ui/reset',
  add_passkey: '/ui/passkey',
};

const PLACEHOLDER = /\{\{\s*\.(\w+)\s*\}\}/g;
const NO_PARTS: LinkParts = { userId: '', orgId: '', code: '' };

/** The link to our own page. */
export function pageLink(baseUrl: string, kind: LinkKind, parts: LinkParts): string {
  return `${baseUrl}${PAGE_PATHS[kind]}?userId=${encode(parts.userId)}&code=${encode(parts.code)}`;
}

/** Fills in `{{.UserID}}`, `{{.Code}}` and `{{.OrgID}}` in a template that `urlTemplateProblem` accepts. */
export function templateLink(template: string, parts: LinkParts): string {
  return template.replace(PLACEHOLDER, (whole, name: string) => {
    const value = placeholder(name, parts);
    return value === undefined ? whole : encode(value);
  });
}

/** What is wrong with a caller's URL template; undefined if it is valid. */
export function urlTemplateProblem(template: string): string | undefined {
  for (const [whole, name] of template.matchAll(PLACEHOLDER)) {
    if (placeholder(name as string, NO_PARTS) === undefined) return `must not contain ${whole}`;
  }
  const filled = templateLink(template, { userId: '1', orgId: '1', code: '1' });
  if (/[\s<>"{}\\^`]/.test(filled) || !URL.canParse(filled)) return 'must be a URL';
  return /^https?:$/.test(new URL(filled).protocol) ? undefined : 'must start with https:// or http://';
}

/** The origin of the links of a valid template; undefined if it depends on a placeholder. */
export function templateOrigin(template: string): string | undefined {
  const [origin, other] = ['1', '2'].map((part) => {
    return new URL(templateLink(template, { userId: part, orgId: part, code: part })).origin;
  });
  return origin === other ? origin : undefined;
}

function placeholder(name: string, parts: LinkParts): string | undefined {
  switch (name) {
    case 'UserID':
      return parts.userId;
    case 'Code':
      return parts.code;
    case 'OrgID':
      return parts.orgId;
    default:
      return undefined;
  }
}

/**
 * Percent-encodes a value with `!'()*`, which encodeURIComponent leaves alone and at which programs that detect links
 * may stop.
 */
function encode(value: string): string {
  return encodeURIComponent(value).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}
