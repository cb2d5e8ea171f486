{{/* Names, labels, and what the pods of all processes have in common. */}}

{{- define "muster.name" -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "muster.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{/* The account of API and workers; it has no rights in the cluster. */}}
{{- define "muster.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "muster.name" .) "default") }}
{{- end }}

{{/* The migration runs before the account of API and workers exists, so the chart creates one for it. */}}
{{- define "muster.migrationAccount" -}}
{{ include "muster.serviceAccount" . }}{{ if .Values.serviceAccount.create }}-migration{{ end }}
{{- end }}

{{/* Where the certificates of private authorities are mounted. */}}
{{- define "muster.caFolder" -}}
/etc/muster/ca
{{- end }}

{{- define "muster.hasCa" -}}
{{- if or .Values.caCertificates.configMap .Values.caCertificates.secret }}true{{ end -}}
{{- end }}

{{/* Takes (list . component). */}}
{{- define "muster.selector" -}}
app.kubernetes.io/name: muster
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "muster.labels" -}}
{{ include "muster.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: muster-{{ (index . 0).Chart.Version }}
{{- end }}

{{/* Pods of Muster itself, as opposed to bundled stores. */}}
{{- define "muster.processes" -}}
matchLabels:
  app.kubernetes.io/name: muster
  app.kubernetes.io/instance: {{ .Release.Name }}
  muster/process: "true"
{{- end }}

{{- define "muster.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{/* Both images have the user 999. */}}
{{- define "muster.storeSecurity" -}}
runAsNonRoot: true
runAsUser: 999
runAsGroup: 999
fsGroup: 999
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "muster.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* Takes (list . own), where `own` is a map of settings that take precedence. */}}
{{- define "muster.env" -}}
{{- $ := index . 0 -}}
{{- if $.Values.bundledStores.enabled }}
- name: POSTGRES_PASSWORD
  valueFrom: { secretKeyRef: { name: {{ $.Values.secretName }}, key: POSTGRES_PASSWORD } }
- name: REDIS_PASSWORD
  valueFrom: { secretKeyRef: { name: {{ $.Values.secretName }}, key: REDIS_PASSWORD } }
- name: DATABASE_URL
  value: postgres://muster:$(POSTGRES_PASSWORD)@{{ include "muster.name" $ }}-postgres:5432/muster
- name: REDIS_URL
  value: redis://:$(REDIS_PASSWORD)@{{ include "muster.name" $ }}-redis:6379
{{- end }}
{{- $ca := dict }}
{{- if include "muster.hasCa" $ }}
{{- $ca = dict "NODE_EXTRA_CA_CERTS" (printf "%s/%s" (include "muster.caFolder" $) $.Values.caCertificates.key) }}
{{- end }}
{{- range $name, $value := mergeOverwrite $ca $.Values.settings (index . 1) }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{/* Seconds that a process may take to drain, STOP_AFTER_MS, and some more. Takes (list . own) as muster.env does. */}}
{{- define "muster.drainSeconds" -}}
{{- $settings := mergeOverwrite (dict) (index . 0).Values.settings (index . 1) -}}
{{- add 15 (div (get $settings "STOP_AFTER_MS" | default "15000" | int) 1000) -}}
{{- end }}

{{/* What all pods of processes have. Takes (list . account own), where `own` has a placement that takes precedence. */}}
{{- define "muster.pod" -}}
{{- $own := index . 2 -}}
{{- $values := (index . 0).Values.AsMap -}}
serviceAccountName: {{ index . 1 }}
{{- with index . 0 }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  {{- include "muster.podSecurity" . | nindent 2 }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $field := list "nodeSelector" "tolerations" "affinity" }}
{{- with get $own $field | default (get $values $field) }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
volumes:
  # Mails and text messages as files, if SMTP_URL or SMS_URL is not set; nothing else is written.
  - name: data
    emptyDir: {}
  {{- with .Values.caCertificates.configMap }}
  - { name: ca, configMap: { name: {{ . }} } }
  {{- end }}
  {{- with .Values.caCertificates.secret }}
  - { name: ca, secret: { secretName: {{ . }} } }
  {{- end }}
{{- end }}
{{- end }}

{{/* The part of a container that all processes share, but for its settings. */}}
{{- define "muster.container" -}}
image: {{ include "muster.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  {{- include "muster.containerSecurity" . | nindent 2 }}
envFrom:
  - secretRef: { name: {{ .Values.secretName }} }
volumeMounts:
  - { name: data, mountPath: /data }
  {{- if include "muster.hasCa" . }}
  - { name: ca, mountPath: {{ include "muster.caFolder" . }}, readOnly: true }
  {{- end }}
{{- end }}

{{/* Spreads the pods of a component over nodes. Takes (list . component). */}}
{{- define "muster.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "muster.selector" . | nindent 8 }}
{{- end }}
