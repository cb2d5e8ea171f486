/**
 * Mails as people get them, before any is sent.
 *
 * Guarantee: a mail is made by the code that makes the one that is sent; only its user and its code are made up. A link
 * leads to the real page, which says that the code is not valid.
 */
import { isNotice, type PreviewKind, pageLink } from '../../contract/link-templates.ts';
import type { Config } from '../../platform/config.ts';
import { inLanguage } from '../../platform/messages/catalogue.ts';
import type { LanguageWishes } from '../../platform/request-context.ts';
import type { MailLook } from './branding.ts';
import type { MailContent } from './layout.ts';
import { SIGN_IN_CODE_MS } from './sign-in-codes.ts';
import { renderConfirmCode, renderHowToSignIn, renderMail, renderNotice, renderSignInCode } from './texts.ts';

export interface Previewed {
  kind: PreviewKind;
  org: { id: string; name: string };
  languages: LanguageWishes;
  /** How the mails of the organization look. */
  look: MailLook;
  expiresAt: Date;
  /** In the greeting; an address that is not verified gets none. */
  displayName: string;
}

const MADE_UP = { userName: 'ann', userId: 'ann', code: 'K7XM4QRTWA2P', digits: '12345678', recoveryLeft: 7 };

/** The name in the greeting of a mail to a verified address. */
export const MADE_UP_NAME = 'Ann Example';

/** Renders a mail of that kind, of an organization. */
export function previewMail(
  { baseUrl }: Pick<Config, 'baseUrl'>,
  { kind, org, languages, look, expiresAt, displayName }: Previewed,
): MailContent {
  const { userName, userId, code, digits, recoveryLeft } = MADE_UP;
  const orgName = org.name;
  const branding = look.brandingFor(kind, { displayName, orgName, userName });
  return inLanguage(languages, () => {
    if (isNotice(kind)) return renderNotice({ kind, orgName, recoveryLeft }, branding);
    if (kind === 'confirm_change') return renderConfirmCode({ orgName, code, expiresAt }, branding);
    if (kind === 'how_to_sign_in') {
      return renderHowToSignIn(
        { displayName, orgName, userName, byAddress: true, link: `${baseUrl}/account` },
        branding,
      );
    }
    if (kind === 'sign_in' || kind === 'factor_mail') {
      return renderSignInCode(kind, { displayName, orgName, code: digits, link: undefined, expiresAt }, branding);
    }
    const link = pageLink(baseUrl, kind, { userId, orgId: org.id, code });
    return renderMail({ kind, displayName, orgName, userName, link, expiresAt }, branding);
  });
}

/** How long the code of a mail is valid, in milliseconds. */
export function validForMs(kind: PreviewKind, config: Pick<Config, 'CODE_TTL_MS' | 'RESET_CODE_TTL_MS'>): number {
  if (kind === 'reset_password') return config.RESET_CODE_TTL_MS;
  return kind === 'sign_in' || kind === 'factor_mail' || kind === 'confirm_change'
    ? SIGN_IN_CODE_MS
    : config.CODE_TTL_MS;
}
