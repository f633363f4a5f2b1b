{{/* What every pod has: who it runs as, its settings and its secrets. */}}

{{/* Settings become variables; a list is joined by commas. Secrets become names of files. */}}
{{- define "watchbell.env" -}}
{{- range $section, $keys := .Values.settings }}
{{- range $key, $value := $keys }}
- name: WATCHBELL__{{ upper $section }}__{{ upper $key }}
  {{- if kindIs "slice" $value }}
  value: {{ join "," $value | quote }}
  {{- else if kindIs "float64" $value }}
  value: {{ int64 $value | quote }}
  {{- else }}
  value: {{ $value | quote }}
  {{- end }}
{{- end }}
{{- end }}
{{- range $setting, $_ := .Values.secrets.keys }}
- name: WATCHBELL__{{ $setting | replace "." "__" | upper }}_FILE
  value: /etc/watchbell/secrets/{{ $setting }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "watchbell.volumeMounts" -}}
- name: secrets
  mountPath: /etc/watchbell/secrets
  readOnly: true
{{- end }}

{{- define "watchbell.volumes" -}}
- name: secrets
  secret:
    secretName: {{ .Values.secrets.existingSecret }}
    defaultMode: 0440
    items:
      {{- range $setting, $key := .Values.secrets.keys }}
      - key: {{ $key }}
        path: {{ $setting }}
      {{- end }}
{{- end }}

{{/* Nothing of ours calls the Kubernetes API, so no pod gets a token for it. */}}
{{- define "watchbell.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "watchbell.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}
