/** The German texts of ../organizations.ts. */

export const ORGS = {
  title: 'Organisationen',
  create: 'Neue Organisation',
  createEffect:
    'Die Organisation beginnt ohne Benutzer. Die Domain ist der Teil ihrer Anmeldenamen nach dem @ und bleibt, wie sie ist.',
  name: 'Name',
  domain: 'Domain',
  domainHint: 'Zum Beispiel acme.example. Ohne Eingabe wird eine aus dem Namen gebildet.',
  domainMeaning: (domain: string) => `Ihre Benutzer können sich als name@${domain} anmelden.`,
  id: 'Organisations-ID',
  search: 'Name, Domain oder ID',
  find: 'Suchen',
  found: (count: string, isOne: boolean) => `${count} ${isOne ? 'Organisation' : 'Organisationen'}.`,
  before: 'Vorherige Organisationen',
  next: 'Nächste Organisationen',
  none: 'Keine Organisation gefunden',
  noneHint: 'Namen, Domains und IDs müssen ganz übereinstimmen.',
  state: 'Status',
  states: {
    ORG_STATE_ACTIVE: 'Aktiv',
    ORG_STATE_INACTIVE: 'Deaktiviert',
    ORG_STATE_REMOVED: 'Gelöscht',
  } as Readonly<Record<string, string>>,
  users: 'Benutzer',
  newMachine: 'Neuer Maschinenbenutzer',
  machineEffect:
    'Ein Maschinenbenutzer ist das Konto eines Programms. Er kann nichts tun, bevor Sie ihm eine Rolle und ein Token geben.',
  userName: 'Benutzername',
  description: 'Beschreibung',
  done: {
    created: 'Die Organisation ist angelegt.',
    added: 'Das Mitglied ist hinzugefügt.',
    removed: 'Das Mitglied ist entfernt.',
    deactivated: 'Die Organisation ist deaktiviert.',
    reactivated: 'Die Organisation ist wieder aktiv. Ihre Importe bleiben angehalten, bis jemand sie fortsetzt.',
    deleted: 'Die Organisation ist gelöscht. Sie können das sieben Tage lang zurücknehmen.',
    limited: 'Die Grenzen sind gesetzt.',
    login: 'Es ist festgelegt, wie Benutzer sich anmelden.',
    loginReset: 'Für die Organisation gilt die Richtlinie des Dienstes.',
    restored: 'Die Organisation ist wieder da. Ihre Importe bleiben angehalten, bis jemand sie fortsetzt.',
  },
};

export const ORG_LIMIT_TEXTS = {
  title: 'Grenzen',
  what: 'Grenze',
  most: 'Höchstens',
  used: 'Benutzt',
  names: {
    users: 'Benutzer',
    importsAtOnce: 'Importe gleichzeitig',
    usersPerImport: 'Benutzer eines Imports',
    mailsPerDay: 'E-Mails und SMS pro Tag',
    smsPerDay: 'SMS pro Tag',
    requestsPerMinute: 'Anfragen pro Minute',
  },
  hints: {
    users: 'Mit denen, die in Importen warten, die nicht beendet sind.',
    importsAtOnce: 'Die laufen oder angehalten sind, auch Probeläufe.',
    usersPerImport: 'Dieser Organisation, auch ungültige.',
    mailsPerDay: 'An ihre Benutzer, an einem Tag nach UTC. Was darüber hinausgeht, wartet bis zum nächsten Tag.',
    smsPerDay:
      'An ihre Benutzer, an einem Tag nach UTC. Leer: wie der Dienst erlaubt. Codes zum Anmelden, die darüber hinausgehen, werden nicht gesendet.',
    requestsPerMinute:
      'An die API, durch ihre Maschinenbenutzer und ihre Benutzer mit einer Rolle. Diese Konsole zählt nicht.',
  },
  none: 'Nicht begrenzt',
  notCounted: 'Nicht gezählt',
  pending: (users: string, pending: string) => `${users}, und ${pending} in Importen`,
  change: 'Grenzen ändern',
  changeOf: (name: string) => `Grenzen von ${name}`,
  empty: 'Ein leeres Feld heißt: nicht begrenzt.',
  keeps: 'Eine Grenze unter dem jetzigen Stand nimmt nichts weg. Es kann nur nichts dazukommen.',
  set: 'Grenzen setzen',
};

export const LOGIN_POLICY = {
  title: 'Wie Benutzer sich anmelden',
  own: 'Die Organisation hat eine eigene Richtlinie.',
  ofOthers: 'Sie gilt für Organisationen, die keine eigene Richtlinie haben.',
  done: 'Es ist festgelegt, wie Benutzer sich anmelden.',
  ofService: 'Das ist die Richtlinie des Dienstes: Die Organisation hat keine eigene.',
  change: 'Ändern, wie Benutzer sich anmelden',
  changeOf: (name: string) => `Wie Benutzer von ${name} sich anmelden`,
  set: 'Festlegen, wie Benutzer sich anmelden',
  reset: 'Richtlinie des Dienstes übernehmen',
  resetTitle: 'Richtlinie des Dienstes',
  resetEffect:
    'Die Organisation verliert ihre eigene Richtlinie und folgt der des Dienstes, auch wenn sie sich ändert.',
  mailCode: 'Codes per E-Mail',
  mailCodes: {
    off: 'Niemand meldet sich mit einem Code an. Benutzer ohne Passwort wählen eines über einen Link.',
    withoutPassword: 'Benutzer ohne Passwort melden sich mit einem Code an.',
    all: 'Alle mit bestätigter Adresse dürfen sich mit einem Code anmelden, und Benutzer ohne Passwort.',
  },
  mailCodeOwners: 'Ein Administrator des Dienstes braucht dafür auch die Erlaubnis der Richtlinie des Dienstes.',
  smsCode: 'Codes per SMS',
  smsCodes: {
    off: 'Niemand meldet sich mit einer Telefonnummer an.',
    withoutPassword: 'Benutzer ohne Passwort melden sich mit ihrer Nummer und einem Code an.',
    all: 'Alle mit bestätigter Nummer dürfen sich mit ihr und einem Code anmelden.',
  },
  smsCodeHint:
    'Wer die Nummer hat, meldet sich an. Eine Nummer, die zwei Benutzer haben, meldet keinen von beiden an. Der Dienst braucht ein Gateway für SMS.',
  initMail: 'E-Mails von Importen',
  initMails: {
    always: 'Jeder Benutzer ohne Passwort oder mit einer nicht bestätigten Adresse bekommt eine.',
    unlessWayIn: 'Nur Benutzer, die sich nicht anders anmelden können, bekommen eine.',
  },
  linking: 'Konten bei einem Anbieter, die mit keinem Benutzer verknüpft sind',
  linkings: {
    refuse: 'Mit ihnen meldet sich niemand an.',
    confirm: 'Die Person meldet sich einmal anders an und wird verknüpft.',
    verifiedAddress:
      'Sie werden mit dem Benutzer derselben Adresse verknüpft, wenn beide Seiten die Adresse bestätigt haben.',
    create: 'Sie bekommen einen neuen Benutzer, für die Domains des Anbieters.',
  },
  linkingHint:
    'Ein Anbieter kann eine eigene Regel haben. Für die beiden letzten muss den Adressen des Anbieters auch vertraut werden.',
  passkeys: 'Passkeys',
  passkeyChoices: {
    true: 'Benutzer dürfen Passkeys haben und sich mit ihnen anmelden.',
    false: 'Niemand meldet sich mit einem Passkey an.',
  },
  deleteAccount: 'Löschen des eigenen Kontos',
  deleteAccounts: {
    false: 'Benutzer bitten einen Administrator.',
    true: 'Benutzer dürfen ihr eigenes Konto löschen.',
  },
  forceMfa: 'Zweiter Faktor',
  forceMfas: {
    false: 'Benutzer mit einem zweiten Faktor werden danach gefragt.',
    true: 'Alle brauchen einen. Wer keinen hat, richtet ihn nach dem Passwort oder Code ein, vor der Anmeldung.',
  },
};

export const ORG_CHANGES = {
  back: 'Zurück, nichts ändern',
  removal: 'Endgültig entfernt',
  counts: {
    humans: 'Personen',
    machineUsers: 'Maschinenbenutzer',
    members: 'Mitglieder, die ihre Rollen hier verlieren',
    imports: 'Importe',
    sharedImports: 'Importe auch in andere Organisationen, die vorerst bleiben',
    drafts: 'Importe, die nicht gestartet sind',
    passwordSources: 'Passwortquellen',
    identityProviders: 'Anbieter für die Anmeldung',
    unsentMails: 'E-Mails, die nicht gesendet sind',
    events: 'Ereignisse ihrer Geschichte',
  } as Readonly<Record<string, string>>,
  typeId: (id: string) => `Geben Sie zur Bestätigung ${id} ein`,
  wrongId: 'Das ist nicht die ID der Organisation.',
  pages: {
    deactivate: {
      button: 'Deaktivieren',
      title: (name: string) => `${name} deaktivieren`,
      effects: [
        'Ab sofort können ihre Benutzer sich nicht anmelden, und alle ihre Sitzungen und Token werden abgelehnt.',
        'Ihre laufenden Importe werden angehalten, und ihre E-Mails warten.',
        'Nichts wird gelöscht. Sie können sie jederzeit wieder aktivieren.',
      ],
    },
    reactivate: {
      button: 'Wieder aktivieren',
      title: (name: string) => `${name} wieder aktivieren`,
      effects: [
        'Ihre Benutzer können sich wieder anmelden, und Sitzungen und Token, die nicht abgelaufen sind, gelten wieder.',
        'E-Mails, die gewartet haben, werden innerhalb einer Stunde gesendet.',
        'Ihre Importe bleiben angehalten, bis jemand sie fortsetzt.',
      ],
    },
    delete: {
      button: 'Löschen',
      title: (name: string) => `${name} löschen`,
      effects: [
        'Ab sofort können ihre Benutzer sich nicht anmelden, und alle ihre Sitzungen und Token werden abgelehnt.',
        'Sieben Tage lang können Sie das zurücknehmen. Dann wird alles unten endgültig entfernt.',
        'Ihre ID bleibt vergeben. Ihre Domain wird frei.',
      ],
    },
    undelete: {
      button: 'Löschen zurücknehmen',
      title: (name: string) => `Löschen von ${name} zurücknehmen`,
      effects: [
        'Sie ist wie zuvor. War sie deaktiviert, so ist sie es wieder.',
        'Ihre Importe bleiben angehalten, bis jemand sie fortsetzt.',
      ],
    },
  },
};

export const MEMBERS = {
  title: 'Mitglieder',
  none: 'Niemand hat hier eine Rolle, außer den Administratoren des Dienstes.',
  more: (shown: number, total: number) => `Angezeigt werden die ersten ${shown} von ${total}.`,
  user: 'Benutzer',
  userId: 'Benutzer-ID',
  userIdHint: 'Sie steht auf der Seite eines Benutzers.',
  unknown: 'Sie können keinen Benutzer mit dieser ID sehen.',
  role: 'Rolle',
  roles: 'Rollen',
  since: 'Seit',
  action: 'Aktion',
  add: 'Mitglied hinzufügen',
  remove: 'Entfernen',
  back: 'Zurück, nichts ändern',
  names: {
    ORG_OWNER: 'Eigentümer',
    ORG_USER_MANAGER: 'Benutzerverwalter',
    ORG_OWNER_VIEWER: 'Betrachter',
  } as Readonly<Record<string, string>>,
  effects: {
    ORG_OWNER: 'Ein Eigentümer importiert und verwaltet Benutzer, Mitglieder und Token dieser Organisation.',
    ORG_USER_MANAGER: 'Ein Benutzerverwalter legt ihre Benutzer an, ändert, sperrt und löscht sie.',
    ORG_OWNER_VIEWER: 'Ein Betrachter sieht ihre Benutzer und ändert nichts.',
  },
  removeTitle: (name: string) => `${name} entfernen`,
  removeEffect: (organization: string) => `Das Mitglied verliert sofort alle Rollen in ${organization}.`,
  removeStays: 'Das Konto bleibt, und eine Anmeldung ist weiter möglich.',
  removeSelf: 'Das ist Ihre eigene Mitgliedschaft: Sie sehen diese Organisation dann vielleicht nicht mehr.',
};
