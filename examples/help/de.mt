Klicken Sie Neue Version erstellen.
Weitere Informationen finden Sie unter Übersicht über Benutzerberechtigungen.
Benutzer können Datensätze zur Tabelle hinzufügen.
Die Audiences werden im Dokument aufgelistet.
Wählen Sie den Datensatztyp aus, den Sie freigeben möchten.
Informationen zum Erstellen von Testsendungen finden Sie unter Erstellen von Testsendungen.
Administratoren können alle Arbeitsmappen in Ihrem Unternehmen sehen.
Anweisungen finden Sie unter Erstellen eines Dashboards.
