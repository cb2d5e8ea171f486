/** The German texts of ../credentials.ts. */

const OF_ALL = {
  lifetime: 'Endet nach',
  days: (days: string) => `${days} Tagen`,
  forever: 'nie',
  never: 'Nie',
  created: 'Erstellt',
  ends: 'Endet',
  action: 'Aktion',
  remove: 'Entfernen',
  back: 'Zurück, nichts ändern',
  onceHint: 'Wird einmal angezeigt, auf der nächsten Seite.',
};

export const TOKENS = {
  ...OF_ALL,
  title: 'Token',
  none: 'Dieser Maschinenbenutzer hat kein Token.',
  add: 'Neues Token',
  effects: (name: string) => [`Wer das Token hat, kann alles tun, was ${name} darf.`],
  id: 'Token-ID',
  secret: 'Token',
  removeTitle: 'Token entfernen',
  removeEffect: (name: string) =>
    `Programme, die sich mit diesem Token als ${name} anmelden, scheitern sofort. Das kann nicht zurückgenommen werden.`,
};

export const KEYS = {
  ...OF_ALL,
  title: 'Schlüssel',
  none: 'Dieser Maschinenbenutzer hat keinen Schlüssel.',
  add: 'Neuer Schlüssel',
  effects: (name: string) => [
    `Wer den privaten Schlüssel hat, kann alles tun, was ${name} darf.`,
    'Programme signieren damit ein JWT und tauschen es gegen ein Access-Token. Der Dienst behält nur den öffentlichen Schlüssel.',
  ],
  id: 'Schlüssel-ID',
  secret: 'Schlüsseldatei',
  removeTitle: 'Schlüssel entfernen',
  removeEffect: (name: string) =>
    `Programme, die sich mit diesem Schlüssel als ${name} anmelden, scheitern sofort. Das kann nicht zurückgenommen werden.`,
};
