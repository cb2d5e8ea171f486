/** The German texts of ../sign-ins.ts. */

export const SIGN_INS = {
  before: 'Wer sich anmelden kann',
  after: 'Wie sie sich anmelden',
  users: 'Benutzer',
  how: 'Wie',
  why: 'Warum',
  remedies: 'Was Sie tun können',
  groups: {
    known: 'Wie bisher',
    other: 'Auf andere Weise',
    none: 'Können sich nicht anmelden',
  },
  ways: {
    PASSWORD: 'Ihr Passwort',
    PASSWORD_SOURCE: 'Ihr Passwort, bei einer Passwortquelle',
    PROVIDER: 'Ein externer Anbieter',
    PASSKEY: 'Ein Passkey',
    MAIL_CODE: 'Ein Code per E-Mail',
    SMS_CODE: 'Ein Code per SMS',
    INIT_MAIL: 'Ein Passwort, das sie per E-Mail wählen',
    NONE: 'Gar nicht',
  },
  since: 'Wer sich seitdem angemeldet hat',
  signedIn: 'Haben sich angemeldet',
  notYet: 'Noch nicht angemeldet',
  mailsTitle: 'E-Mails an die übrigen',
  mailed: 'Geschrieben',
  mailsSent: 'Gesendet',
  mailsFailed: 'Fehlgeschlagen',
  asked: 'Zuletzt angefordert',
  stopped:
    'vorzeitig beendet: Wer sie angefordert hat, darf es nicht mehr, oder der Import lief wieder oder wurde rückgängig gemacht',
  day: 'Tag (UTC)',
  curve: (signedIn: string, all: string, from: string, to: string) =>
    `${signedIn} von ${all} Benutzern haben sich angemeldet, vom ${from} bis zum ${to} (UTC).`,
  onDay: (day: string, users: string, all: string) => `${day} UTC · ${users} zum ersten Mal · bisher ${all}`,
  has: 'Hat sich angemeldet',
  anyone: 'Alle Benutzer',
  way: 'Meldet sich an mit',
  anyWay: 'Egal womit',
  different: 'Was für sie anders ist',
  missing: 'Was dieser Export nicht enthält',
  passkeysHere: (n: number, count: string, domain: string) =>
    n === 1 ? `1 Passkey für ${domain} wird funktionieren.` : `${count} Passkeys für ${domain} werden funktionieren.`,
  passkeysElsewhere: (n: number, count: string, host: string) =>
    `${n === 1 ? '1 Passkey' : `${count} Passkeys`} für ${host === '' ? 'andere Hosts' : `einen anderen Host (${host})`} ${n === 1 ? 'wird' : 'werden'} nicht funktionieren.`,
  unknownLinks: 'Anbieter, bei denen Benutzer Konten haben und die nicht eingerichtet sind',
  setUp: 'Diesen Anbieter einrichten',
  preset: (type: string) => `Fügen Sie einen Anbieter vom Typ ${type} hinzu.`,
  moreLinks: (names: string) => `Und ${names} weitere Namen.`,
  passwordSource: 'Das Passwort von einer Passwortquelle prüfen lassen',
  policy: 'Ändern, wie Benutzer sich anmelden',
  allowCodes: 'Benutzern von Firmenverbindungen einen Code per E-Mail erlauben',
  mails: 'Die E-Mails des Imports senden',
  sendMails: 'Die zurückgehaltenen E-Mails senden',
  columns: 'Sagen, welche Spalte die Adresse hat',
  failWithout: (users: number, count: string) =>
    users === 1
      ? '1 Benutzer schlägt fehl, weil er keine E-Mail-Adresse hat.'
      : `${count} Benutzer schlagen fehl, weil sie keine E-Mail-Adresse haben.`,
  withoutEmail: 'Benutzer ohne E-Mail-Adresse importieren',
};

export const WHY = {
  NO_PASSWORD: 'Der Import bringt kein Passwort mit.',
  UNKNOWN_PASSWORD:
    'Vielleicht ist das Passwort nicht bekannt: Das andere System erfindet eines für alle, die keines benutzen.',
  PASSWORD_AT_SOURCE: 'Das Passwort wird bei der ersten Anmeldung bei einer Passwortquelle geprüft.',
  PROVIDER_NOT_SET_UP: 'Die Anmeldung lief über einen externen Anbieter, der hier nicht eingerichtet ist.',
  PROVIDER_NOT_ALLOWED: 'Der externe Anbieter gehört der Organisation und darf niemanden mit diesen Rechten anmelden.',
  LINK_HELD_TWICE: 'Ein anderer Benutzer hat dasselbe Konto beim externen Anbieter.',
  NO_ADDRESS: 'Es gibt keine E-Mail-Adresse und kein Passwort und keinen Benutzernamen zum Anmelden.',
  ADDRESS_NOT_VERIFIED: 'Hier meldet nur die Adresse an, und sie ist nicht bestätigt.',
  MAILS_HELD: 'Der Import hält seine E-Mails zurück. Sie werden auf Wunsch gesendet.',
  ONLY_ENTERPRISE: 'Die Anmeldung lief nur über die Verbindung der Firma, ohne Codes per E-Mail.',
  SECOND_FACTOR_UNUSABLE: 'Der zweite Faktor kann hier nicht benutzt werden, und es gibt keinen anderen.',
  NUMBER_HELD_TWICE: 'Ein anderer Benutzer der Organisation hat dieselbe Telefonnummer.',
  INACTIVE: 'Der Benutzer ist inaktiv.',
  LOCKED: 'Der Benutzer ist gesperrt.',
};

export const DIFFERENT = {
  TYPES_USER_NAME: 'Bis die Adresse bestätigt ist, muss der Benutzername eingegeben werden, nicht die Adresse.',
  GETS_MAIL: 'Der Import sendet eine E-Mail.',
  SECOND_FACTOR_LOST: 'Der zweite Faktor kommt nicht mit: Das Konto ist schwächer, bis wieder einer eingerichtet ist.',
  SECOND_FACTOR_RE_ENROL:
    'Der zweite Faktor kommt nicht mit, und die Organisation verlangt einen: Er wird bei der ersten Anmeldung eingerichtet.',
  PASSKEYS_LOST: 'Die Passkeys kommen nicht mit.',
  RECOVERY_CODES_LOST: 'Die Wiederherstellungscodes kommen nicht mit.',
  PASSKEYS_OTHER_HOST: 'Die Passkeys wurden für einen anderen Host gemacht und gelten nur dort.',
  SMS_OFF: 'Codes kamen per SMS. Dafür ist kein Gateway eingerichtet, oder die Organisation benutzt es nicht.',
  RELAY_ADDRESS:
    'Die Adresse ist ein Relay von Apple. Es nimmt nur E-Mails von Absendern an, die bei Apple registriert sind.',
  LINK_UNUSED: 'Es gab ein Konto bei einem externen Anbieter, das hier nicht anmelden kann.',
  ENTERPRISE_LINK_UNUSED: 'Die Anmeldung lief über die Verbindung der Firma, die hier nicht anmelden kann.',
  NEW_PASSWORD: 'Nach der ersten Anmeldung muss ein anderes Passwort gewählt werden.',
};
