/** How an old system combined a password and its pepper, by name. `suffix` is Devise's. */
export const PEPPER_MODES = ['suffix', 'prefix', 'hmac-sha256-hex', 'hmac-sha256-base64'] as const;
export type PepperMode = (typeof PEPPER_MODES)[number];
