/**
 * The device flow (RFC 8628): a user with a browser authorizes a device that has none. The protocol library implements
 * it; the pages are ours.
 *
 * Guarantee: every error shows a page of ours, with a form to try again or the message that the sign-in has ended; no
 * page reveals anything of an internal error.
 */
import { type Configuration, type ErrorOut, errors, type KoaContextWithOIDC } from 'oidc-provider';
import {
  type DeviceFrame,
  deviceCodeForm,
  deviceConfirmPage,
  deviceDonePage,
  deviceFormGonePage,
  deviceStoppedPage,
} from '../../pages/device.ts';
import { PAGES } from '../../pages/errors.ts';
import { type Page, renderPage } from '../../pages/layout.ts';
import { loginGonePage } from '../../pages/sign-out.ts';

type DeviceFlow = NonNullable<NonNullable<Configuration['features']>['deviceFlow']>;

/** By the name of the library's error, as it does not export the classes. */
const TYPED_WRONG: Readonly<Record<string, string>> = {
  NoCodeError: 'Please enter the code.',
  NotFoundError: 'This code is not correct. Please check your device and enter it again.',
  ExpiredError: 'This code has expired. Please start again on your device.',
  AlreadyUsedError: 'This code has already been used. Please start again on your device.',
};

export const DEVICE_FLOW: DeviceFlow = {
  // Eight consonants: 2.5 × 10^10 codes. They live ten minutes and can be tried RATE_LIMIT_LOGINS times a minute
  // (section 5.1).
  charset: 'base-20',
  mask: '****-****',
  // The IP address may be a proxy's, and any client can choose its user agent: neither would help the user decide.
  deviceInfo: () => ({}),
  userCodeInputSource(ctx, _form, out, error) {
    if (error) leaveUnstored(ctx);
    show(ctx, inputPage(ctx, out, error), error && (ctx.status === 200 ? 400 : ctx.status));
  },
  userCodeConfirmSource(ctx, _form, client, _deviceInfo, userCode) {
    show(ctx, deviceConfirmPage(frameOf(ctx), client.clientName ?? client.clientId, userCode));
  },
  successSource(ctx) {
    const { client } = ctx.oidc;
    show(ctx, deviceDonePage(client?.clientName ?? client?.clientId ?? 'The device'));
  },
};

/** Asks for the code, says what is wrong with the one entered, or says that the flow has ended. */
function inputPage(ctx: KoaContextWithOIDC, out?: ErrorOut, error?: Error & { userCode?: string }): Page {
  const frame = frameOf(ctx);
  if (!error) return deviceCodeForm(frame, '');
  if (error.name === 'AbortedError') return deviceStoppedPage(frame.action);
  if (error instanceof errors.SessionNotFound) return loginGonePage();
  if (out?.error === 'server_error') return PAGES[500];
  const message = TYPED_WRONG[error.name];
  return message ? deviceCodeForm(frame, error.userCode ?? '', { message }) : deviceFormGonePage(frame.action);
}

/** Keeps the library from saving the session after an error if the browser has none: there is nothing to save. */
function leaveUnstored({ oidc: { session } }: KoaContextWithOIDC): void {
  if (session && session.exp === undefined) Object.assign(session, { touched: false });
}

function frameOf(ctx: KoaContextWithOIDC): DeviceFrame {
  const state = ctx.oidc.session?.state as { secret?: string } | undefined;
  return { action: ctx.oidc.urlFor('code_verification'), xsrf: state?.secret ?? '' };
}

function show(ctx: KoaContextWithOIDC, page: Page, status?: number | undefined): void {
  const { headers, markup } = renderPage(page);
  if (status) ctx.status = status;
  ctx.set(headers);
  ctx.body = markup;
}
