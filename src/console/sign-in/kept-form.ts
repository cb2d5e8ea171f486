/**
 * Keeps what a person typed into a form while their session ended.
 *
 * The fields travel encrypted in a cookie of this browser, through the sign-in, back to the form. A form is sent to the
 * address of the page that shows it, so that page shows the fields again. Nothing is stored on the server, so requests
 * without a session cannot fill it.
 */
import type { Request, Response } from 'express';
import type { Secrets } from '../../secrets.ts';
import type { Cookies } from './cookies.ts';

const PURPOSE = 'console-form';
const KEPT_S = 600;
/** Browsers take 4 KiB of a cookie, with its name and attributes; base64 takes four bytes for three. */
const MAX_BYTES = 2600;

interface KeptForm {
  path: string;
  fields: Record<string, string>;
}

export interface KeptForms {
  /** Returns whether the input is kept: longer input is not. */
  keep(req: Request, res: Response): boolean;
  /** The fields that belong to this page; the next page does not get them again. */
  take(req: Request, res: Response): Record<string, string>;
}

export function openKeptForms(secrets: Secrets, cookies: Cookies): KeptForms {
  return {
    keep(req, res) {
      const fields = Object.entries((req.body ?? {}) as Record<string, unknown>);
      const form = {
        path: req.originalUrl,
        fields: Object.fromEntries(fields.filter(([, v]) => typeof v === 'string')),
      };
      const text = JSON.stringify(form);
      if (Buffer.byteLength(text) > MAX_BYTES) return false;
      cookies.set(res, 'console_form', secrets.seal(text, PURPOSE), KEPT_S);
      return true;
    },
    take(req, res) {
      const sealed = req.method === 'GET' ? cookies.read(req, 'console_form') : undefined;
      const form = sealed === undefined ? undefined : opened<KeptForm>(secrets, sealed, PURPOSE);
      if (!form || form.path !== req.originalUrl) return {};
      cookies.clear(res, 'console_form');
      return form.fields;
    },
  };
}

/** The content of a cookie that we encrypted; undefined for another one, which anybody can send. */
export function opened<T>(secrets: Secrets, sealed: string, purpose: string): T | undefined {
  try {
    return JSON.parse(secrets.unseal(sealed, purpose)) as T;
  } catch {
    return undefined;
  }
}
