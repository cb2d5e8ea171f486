/** The German texts of ../sign-in.ts. */

export const SIGN_IN = {
  outTitle: 'Abgemeldet',
  out: { heading: 'Sie sind abgemeldet', message: 'Sie können diese Seite schließen.' },
  failedTitle: 'Anmeldung nicht abgeschlossen',
  failed: {
    heading: 'Die Anmeldung wurde nicht abgeschlossen',
    message:
      'Sie hat zu lange gedauert, wurde abgebrochen oder begann in einem anderen Browser. Nichts hat sich geändert.',
  },
  again: 'Noch einmal anmelden',
};
