Abra la última revisión en el visor de revisiones.
Para obtener más información, vea Compartir una revisión.
Ahora puede agregar usuarios a un proyecto.
Seleccione la ficha Configuración de idioma.
Se agregó un campo al informe.
Agregue un revisor a una revisión.
El extremo devuelve el estado del trabajo.
Haga clic en el nombre de la etapa.
