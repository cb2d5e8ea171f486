/** The German texts of ../user.ts. */

export const USER = {
  human: 'Person',
  machine: 'Maschinenbenutzer',
  actions: 'Aktionen',
  account: 'Konto',
  names: 'Anmeldenamen',
  fullName: 'wo die Organisation nicht bekannt ist',
  id: 'Benutzer-ID',
  userName: 'Benutzername',
  givenName: 'Vorname',
  familyName: 'Nachname',
  nickName: 'Spitzname',
  language: 'Sprache',
  description: 'Beschreibung',
  phone: 'Telefon',
  verified: 'bestätigt',
  password: 'Passwort',
  hasPassword: 'Festgelegt',
  perhapsPassword: 'Festgelegt, aber der Benutzer kennt es vielleicht nicht',
  noPassword: 'Noch keins',
  mustChange: 'Muss bei der nächsten Anmeldung geändert werden',
  mailCodes: 'Codes per E-Mail',
  leftOut: 'Ausgenommen: Kein Code meldet an, und „Passwort vergessen?“ sendet nichts',
  lastLogin: 'Letzte Anmeldung',
  never: 'Nie',
  created: 'Erstellt',
  import: 'Angelegt von',
  importNumber: (id: string) => `Import ${id}`,
  notImported: 'Nicht von einem Import',
  links: 'Verknüpfte Konten',
  noLinks: 'Keine.',
  heldTwice: 'Ein anderer Benutzer hat dieses Konto auch. Deshalb meldet sich keiner von beiden damit an.',
  noProvider: 'Der Anbieter ist nicht eingerichtet. Deshalb meldet sich niemand damit an.',
  removeLink: 'Entfernen',
  metadata: 'Schlüssel der Metadaten',
  noMetadata: 'Keine.',
  tokens: 'Token',
  keys: 'Schlüssel',
};

export const USER_EDIT = {
  open: 'Bearbeiten',
  title: (name: string) => `${name} bearbeiten`,
  fields: {
    givenName: 'Vorname',
    familyName: 'Nachname',
    nickName: 'Spitzname',
    displayName: 'Anzeigename',
    preferredLanguage: 'Sprache',
    email: 'E-Mail-Adresse',
    phone: 'Telefonnummer',
  },
  hints: {
    displayName: 'Ohne Eingabe sind es Vor- und Nachname.',
    preferredLanguage: 'Ein Sprachkürzel, zum Beispiel en, de oder pt-BR.',
    email:
      'An eine neue Adresse geht eine E-Mail, um sie zu bestätigen. An die alte geht eine, die das mitteilt, wenn sie bestätigt ist.',
    phone: 'Mit Landesvorwahl, zum Beispiel +49 151 12345678. Ein leeres Feld entfernt die Nummer.',
  },
  verified: {
    email: 'Eine neue Adresse gehört dem Benutzer: Sie gilt als bestätigt und bekommt keine E-Mail zur Bestätigung',
    phone: 'Eine neue Nummer gehört dem Benutzer: Sie gilt als bestätigt und bekommt keine SMS',
  },
  button: 'Speichern',
  done: 'Die Änderungen sind gespeichert.',
};

const STOPPED = 'Alle Sitzungen des Benutzers enden jetzt, und seine Token gelten nicht mehr.';

const firstPassword =
  'Der Benutzer hat kein Passwort und braucht deshalb noch den Link einer E-Mail, um eines zu wählen.';

export const USER_UNLINK = {
  title: (provider: string) => `Verknüpfung mit ${provider} entfernen`,
  effects: (provider: string, account: string) => [
    `Das Konto ${account} bei ${provider} meldet diesen Benutzer nicht mehr an.`,
    'Offene Sitzungen bleiben offen.',
    'Der Benutzer bekommt eine E-Mail darüber, wenn er eine Adresse hat.',
  ],
  button: 'Entfernen',
  done: 'Die Verknüpfung ist entfernt.',
};

export const USER_ACTIONS = {
  unlock: {
    button: 'Entsperren',
    title: (name: string) => `${name} entsperren`,
    effects: (hasPassword: boolean) => [
      'Der Benutzer kann sich wieder anmelden.',
      ...(hasPassword ? [] : [firstPassword]),
    ],
    done: 'Der Benutzer ist entsperrt.',
  },
  reactivate: {
    button: 'Wieder aktivieren',
    title: (name: string) => `${name} wieder aktivieren`,
    effects: (hasPassword: boolean) => [
      'Der Benutzer kann sich wieder anmelden.',
      ...(hasPassword ? [] : [firstPassword]),
    ],
    done: 'Der Benutzer ist wieder aktiv.',
  },
  resend: {
    button: 'E-Mail noch einmal senden',
    title: (name: string) => `E-Mail an ${name} noch einmal senden`,
    effects: (address: string, isInitial: boolean) => [
      isInitial
        ? `Eine E-Mail geht an ${address}. Ihr Link bestätigt die Adresse und lässt den Benutzer sein erstes Passwort wählen.`
        : `Eine E-Mail geht an ${address}. Ihr Link bestätigt die Adresse.`,
      'Links früherer E-Mails dieser Art gelten nicht mehr.',
    ],
    done: 'Die E-Mail ist unterwegs.',
  },
  reset: {
    button: 'Passwort zurücksetzen',
    title: (name: string) => `Passwort von ${name} zurücksetzen`,
    effects: (address: string, mail: 'first' | 'verify' | 'new') => [
      {
        first: `Eine E-Mail geht an ${address}. Ihr Link lässt den Benutzer sein erstes Passwort wählen.`,
        verify: `Eine E-Mail geht an ${address}. Ihr Link bestätigt die Adresse. Das ist nötig, bevor ein Passwort zurückgesetzt werden kann.`,
        new: `Eine E-Mail geht an ${address}. Ihr Link lässt den Benutzer ein neues Passwort wählen.`,
      }[mail],
      'Sonst ändert sich nichts: Das jetzige Passwort gilt, bis der Benutzer ein anderes wählt.',
    ],
    done: 'Die E-Mail ist unterwegs.',
  },
  'reset-factors': {
    button: 'Zweite Faktoren zurücksetzen',
    title: (name: string) => `Zweite Faktoren von ${name} zurücksetzen`,
    effects: () => [
      'Authenticator-Apps, Codes per E-Mail und SMS, Sicherheitsschlüssel, Passkeys und Wiederherstellungscodes werden entfernt.',
      'Dann genügt das Passwort allein, bis der Benutzer einen neuen Faktor einrichtet. Vergewissern Sie sich zuerst, dass wirklich er darum bittet.',
      'Der Benutzer bekommt eine E-Mail darüber, wenn er eine Adresse hat.',
    ],
    done: 'Die zweiten Faktoren sind zurückgesetzt.',
  },
  'allow-codes': {
    button: 'Codes per E-Mail erlauben',
    title: (name: string) => `${name} Codes per E-Mail erlauben`,
    effects: () => [
      'Der Benutzer darf sich mit einem Code per E-Mail anmelden, wenn die Richtlinie der Organisation es erlaubt.',
      '„Passwort vergessen?“ funktioniert für ihn wieder.',
    ],
    done: 'Der Benutzer darf Codes per E-Mail verwenden, wie die Richtlinie sagt.',
  },
  lock: {
    button: 'Sperren',
    title: (name: string) => `${name} sperren`,
    effects: () => [STOPPED, 'Er kann sich nicht anmelden, bis jemand ihn entsperrt.', 'Seine Daten bleiben.'],
    done: 'Der Benutzer ist gesperrt.',
  },
  deactivate: {
    button: 'Deaktivieren',
    title: (name: string) => `${name} deaktivieren`,
    effects: () => [STOPPED, 'Er kann sich nicht anmelden, bis jemand ihn wieder aktiviert.', 'Seine Daten bleiben.'],
    done: 'Der Benutzer ist deaktiviert.',
  },
  delete: {
    button: 'Löschen',
    title: (name: string) => `${name} löschen`,
    effects: () => [
      STOPPED,
      'Der Benutzer wird mit Passwort, Rollen, Verknüpfungen und Metadaten entfernt. Das kann nicht zurückgenommen werden.',
      'Der Benutzername wird für andere frei, die Benutzer-ID nur in dieser Organisation.',
    ],
    done: 'Der Benutzer ist gelöscht.',
  },
};

export const USER_CONFIRM = {
  back: 'Zurück, nichts ändern',
  type: (userName: string) => `Geben Sie zur Bestätigung den Benutzernamen ein: ${userName}`,
  wrong: 'Das ist nicht der Benutzername.',
  self: 'Das ist Ihr eigenes Konto: Sie werden sofort abgemeldet.',
};
