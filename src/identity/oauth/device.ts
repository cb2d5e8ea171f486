/**
 * The device flow (RFC 8628): somebody at a browser lets a device in that has none. The protocol library does it; what
 * people see of it is ours.
 *
 * Guarantee: whatever goes wrong is a page of ours with a form for another try, or the sentence that it is over; neither
 * holds anything of a fault of our own.
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

/** By the name of the library's error, which it does not export. */
const TYPED_WRONG: Readonly<Record<string, string>> = {
  NoCodeError: 'Please type the code.',
  NotFoundError: 'There is no such code. Please look at your device and type it once more.',
  ExpiredError: 'That code has expired. Please start again on your device.',
  AlreadyUsedError: 'That code was used already. Please start again on your device.',
};

export const DEVICE_FLOW: DeviceFlow = {
  enabled: true,
  // Eight consonants: 2.5 × 10^10 codes, which live ten minutes and are tried at RATE_LIMIT_LOGINS a minute (section 5.1).
  charset: 'base-20',
  mask: '****-****',
  // An address as a proxy shows it, and a name that anybody may choose, would tell a person nothing.
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

/** Asks for the code, says what is wrong with the one that was typed, or that there is nothing to type it for. */
function inputPage(ctx: KoaContextWithOIDC, out?: ErrorOut, error?: Error & { userCode?: string }): Page {
  const frame = frameOf(ctx);
  if (!error) return deviceCodeForm(frame, '');
  if (error.name === 'AbortedError') return deviceStoppedPage(frame.action);
  if (error instanceof errors.SessionNotFound) return loginGonePage();
  if (out?.error === 'server_error') return PAGES[500];
  const message = TYPED_WRONG[error.name];
  return message ? deviceCodeForm(frame, error.userCode ?? '', { message }) : deviceFormGonePage(frame.action);
}

/** A browser that brings no session has none that the library could store again, as it would after an error. */
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
