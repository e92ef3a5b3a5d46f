Diodorus erwähnt , dass die Amazonen unter Königin Myrina aus Libyen reisten .
Die Reliquien des Heiligen strömten Myrrhe und heilten verschiedene Krankheiten .
Der EIC-Vermesser James Rennell hat zunächst den französischen Namen Bootan anglicized und dann die Unterscheidung zwischen ihm und dem größeren Tibet populär gemacht .
Es hat drei Schiffe , eine Kassettendecke und Kuppeln über dem Presbyterium und Kreuzung .
Dieser Fisch gedeiht im Mary River , Daly River , South und East Alligator River .
Sri Lanka Tamilen sprechen überwiegend Tamilisch und seine srilankischen Dialekte .
Im antiken Rom war die Toga praetexta eine gewöhnliche weiße Toga mit einem breiten lila Streifen an ihrer Grenze .
Richard und andere Marcher Barone und Ritter von König Henry versammelten eine Armee .
Parasitische Befall , Stiche und Bisse der Haut
Am 20. Mai überfielen Konföderierte eine Landungsparty der Union in Crookes River .
Shropshire feuerte 64 8 in und 92 4 in Muscheln , während die amerikanischen Kreuzer und Zerstörer 1.144 5 in und 6 in Muscheln aufwendeten .
Als Reaktion darauf bereitete die RAF alle Stürme und Spitfire vor , um alle IAF-Flugzeuge anzugreifen , denen sie begegneten , und IAF-Flugplätze zu bombardieren .
Statt der Buddhisten patronisierte er Brahmanen und spendete ihnen einen beträchtlichen Reichtum .
Hughes wünschte , sie zu heiraten , und die Boulevardzeitungen berichteten von ihren bevorstehenden Nuptials , aber Hepburn konzentrierte sich weiterhin darauf , ihre gescheiterte Karriere wiederzubeleben .
Das Positron findet schnell ein Elektron , und sie vernichten sich gegenseitig .
Das offen rassistische Buch , das den Krieg gegen den Bolschewismus befürwortete , katapultierte Quisling ins politische Rampenlicht .
Motorbooks International Publishers & Großhandel , Osceola , WI .
Darüber hinaus begleitete die UDT südkoreanische Kommandos bei Überfällen im Norden , um Eisenbahntunnel und Brücken zu zerstören .
Sophokles ' Ode und Hölderlins Flußhymnen poetisieren dasselbe , sind aber nicht identisch .
Nachdem Batman sich weigert , Ra ' s Spuren zu folgen , aktiviert er einen Plan , Bomben in Lazarus Gruben auf der ganzen Welt zu zünden .
Solch eine mächtige Waffenleistung hinderte Matarams ehemalige Oberherren jedoch nicht von Rebellion ab .
Beeindruckung bezieht sich auf den Zwang eines Seemanns , sich einer Besatzung anzuschließen , entweder durch eine Marine oder durch eine Schurkenbesatzung von Piraten .
Die Chemiker Marie und Pierre Curie entdeckten die Elemente Radium und Polonium in Pitchblende Tailings aus einer tschechischen Uranmine in diesen Bergen .
Daher entspricht der obige Vektor komplexer Zahlen dem Quaternion a + bi + cj + dk .
Nach dem Erfolg denunzierten die anderen Krieger sein Kommando und erwiesen sich als wahre Khaos-Krieger .
Erster Indianer und Fünfter in der Gesamtwertung auf 200 Achsen in ODIs .
Wales ist auch bekannt für seine Muscheln , darunter Herzmuscheln , Limpeten , Muscheln und Perwinkles .
Gajapati Purushottam Deva fühlte sich hierüber zutiefst beleidigt und griff das Königreich Kanchin an , um seine Ehre zu rächen .
Paul Richards erschien als ehemaliger Prospektor und Kopfgeldjäger Cash Powers im Segment 1959 , " Irgendwo jenseits der Geier " .
Kobach reagierte auf Kritik am Witz mit " Lighten up .
South Carolina fuhr dann 86 Meter auf 12 Spielen und erzielte auf einem Rückfall in das Viertel zurück .
Diese Krankheiten fegten durch Yucatán in den 1520er und 1530er Jahren , mit periodischen Wiederholungen während des 16. Jahrhunderts .
Zwei Tage später holte Isner die Krawatte und trieb die Vereinigten Staaten ins Halbfinale , indem er das französische Nein besiegte .
Daher waren ein paar große Konvois mit scheinbar wenigen Eskorten sicherer als viele kleine Konvois mit einem höheren Verhältnis von Eskorten zu Geschäftsleuten .
1968 veröffentlichte er ein Duo von langen Sf Novellen als This Crowded Earth und Ladies ' Day .
Beatrice Forbes Manz , " Temür and the Problem of a Conqueror ' s Legacy " , Journal of the Royal Asiatic Society , Third Series , Vol .
Het ' um II wurde nach seiner Abdankung Franziskanerkloster .
Damit wird ein weiterer begrenzter linearer Operator definiert , der adjoint von .
Das Konsortium prägte beschädigte Silbermünzen und gab fast 30 Millionen Gulden aus .
Seine Enttäuschung vertraut er Carcetti an und Parker sagt ihm , dass alle Politiker enttäuschen .
Diese neue amerikanische Division enthielt die Heimat von Shasta Kalifornien .
How Car Suspension Work Robert W. Temple , The ABCs of Chassis Frame and Suspension , September 1969 Suspension Geometry Calculator
Über dem Hemd trugen Männer ein Doppel mit langen Ärmeln genäht oder geschnürt an Ort und Stelle .
Nach dem Einsatz der Thunderbolts in der Schlacht , verwendet Nuke den Speer , um US-Sever
Ackerknecht , Erwin H. " George Forster , Alexander von Humboldt und Ethnologie " .
Am 2. April 2002 begannen die Opie und Anthony Show Songs von Untouchables auszustrahlen .
Er schloss sich den Bolschewiki an und wuchs , um viele georgische Menschewiki zu verabscheuen .
Der Minister und die Massaker , von Nikolai Tolstoy , London , 1986 , Britannica Online über Harold Macmillan
Die Boston Celtics der National Basketball Association verwenden diesen Farbton für ihre Uniformen , Logos und andere Erinnerungsstücke .
Nach der Kapitulation der Achsenmächte in Nordafrika überwachte Eisenhower die Invasion Siziliens .
der uns geheiligt hat mit seinen Geboten und uns geboten hat , Chala zu scheiden .
In Newcastle , Australien , gab es zwischen 1896 und 1948 auch zwei Straßenbahnen .
Marcus Valerius M. f. M. n. Messalla , Konsul suffectus in 32 BC .
Vorhersage der Metamorphose von Ampelus zu einer Rebe .
Geschichten , Memoiren , Gedichte von und über italienische Amerikaner .
Das Schiff scheiterte an einem Riff irgendwo vor Jamaika .
Die großen Blaureiher jagen alleine und wandern in kleinen Herden .
Larven schimmelt , verwandelt sich in eine Puppe , dann junger Erwachsener und schließlich Erwachsener .
Eine kleinere Öffnung , das Wunder , liegt im hinteren Teil des ersten Kiemenschlitzes .
Matthew J. Murray , 24 , American spree killer , Selbstmord durch Schuss .
Sie heirateten in Frizington und kehrten zusammen nach Rhodesien zurück , wo Jock , ein vollendeter Reiter , 1911 die Krönung Derby in Salisbury gewann .
Zusammen mit Buck und Echo schlägt Moon Knight den Kingpin , der sich als Graf Nefaria herausstellt , aber sie fangen Snapdragon ein und Graf Nefaria entkommt .
Diss . , Great Plains Baptist Divinity School , 2015 .
Joseph Cotten als Jedediah Leland , Kanes bester Freund und Reporter für The Inquirer .
Er trainierte auch County Cricket in England , mit Leicestershire und Lancashire .
In der Nähe eines anderen Feindes warf eine Granate in ein Foxhole auf drei schlafende Männer , tötete zwei und verwundete die dritte .
Karyogamie in den Asci wird sofort durch Meiose und die Produktion von Ascosporen gefolgt .
Les Misérables feierte am 5. Dezember 2012 Premiere im Empire , Leicester Square in London .
Sein Auto prallte wild über die Eindämmung , warf Schmutz auf und verpasste knapp eine Barriere .
Eine Koalition aus Whigs und konservativen Demokraten weigerte sich , die Gesetzesvorlage zu verabschieden .
In der ersten Hälfte des Films scheuen die Coens nie davor zurück , Chigurh zu entfesseln ...
Pacquiao besiegte Cotto über TKO , 55 Sekunden in der 12. Runde , und entthronte Cotto als WBO-Welterweight-Champion .
Die T254E2-Kanonen verwendeten britische X15 / L52-Fässer mit einem konzentrischen Bohrungsevakuator auf dem Fass .
Fretless Spieler können auch Mikrotöne oder andere Temperamente als gleiche Temperament , wie nur Intonation spielen .
TG 52.2 reiste dann zu den Gilbert Inseln , um den Streiks , die sie derzeit treffen , zusätzliche Feuerkraft hinzuzufügen .
2016 verbot die Virginia Tech University die Brüderlichkeit bis 2026 wegen Fehlverhaltens und missbräuchlicher Zusagen .
In Pine Bluff fischte , jagte und ritt er mit seinen Geschwistern .
Roter Ziegel , zwei Stockwerke , drei Buchten mit riesigen leeren Bögen .
Dann schräg er über das Feld , um seinen Erzrivalen John Kirwan von innen nach außen zu drehen , bevor er nach unten kam .
Nigel Trench , 7. Baron Ashtown , 93 , britischer Diplomat .
Der russische Kreuzer Bogatyr und Pallada erschienen und beschossen den gestrandeten Kreuzer .
Styles versuchte einen " Calf Crusher " , aber Owens konterte , indem Styles in Shane getreten wurden .
D. B. Weiss und Josh Olson schrieben Garlands Drehbuch 2006 um .
Die Unterseite des Gehirns fehlt ein aufgeblasenes Teil oder Stier .
Während des Writers ' Strike im Jahr 2008 stimmte Affleck der Unterstützung für die Picketer zu .
Spike Milligan , irischer Komiker , Schriftsteller , Dichter und Dramatiker .
Wenn Maker ein Skalpell auf Eddie Brock wirft , taucht das Gift-Symbioten aus seinem Hemd auf und fängt es ein .
Witherspoon und 11 andere Presbyterianer waren Unterzeichner der Unabhängigkeitserklärung .
Entführung oder Entführung einer Frau , um ihre Ehe zu zwingen , usw .
Olivier Asmaker , Radfahrer und Teamkollege von Laurent Jalabert , wuchs in Rodez auf .
Der Kongress würde auch in Annapolis , Maryland und Trenton , New Jersey versammeln , bevor er sich 1785 in New York City niederließ .
In der Zwischenzeit füllte Fred Haise als Backup LMP und Aldrin als Backup CMP für Apollo 8 .
Die Liberale Partei Australiens hält sich an die Prinzipien des Sozialkonservatismus und des liberalen Konservatismus .
Die große Mehrheit der Rankers kam nie über Principalis hinaus .
In Gegenwart von Feuerwehr verstärkt sich die Flamme .
" Europa und anderswo " , in The Mark Twain Encyclopedia .
Von 1923 bis 1933 tourte Carver durch weiße südliche Colleges für die Kommission für interrassische Zusammenarbeit .
Shockwave erscheint auch in der MacGyver Folge " The Black Corsage " .
Die Umgehungen von Faubourg Lafayette sind St. Charles Avenue , Calliope Street , Jackson Avenue und Simon Bolivar Avenue .
Edmunds reformistischer Konservatismus kennzeichnet ihn als Helden .
321 v. Chr. gründete Chandragupta Maurya das Maurya Reich in Indien und stürzte die griechischen Satraps um .
Jonathan Remond erzielte in der 90. Minute , um den Shutout verderben .
1891 besuchte Robey das Royal Aquarium in Westminster , wo er " Professor Kennedy " sah , einen burlesken Mesmeristen aus Amerika .
Am 16. Januar 2014 enthüllten die Bobcats neue Hornets Hemden , Hüte und Ausrüstung .
48 Infanterieregiment , ein Bataillon des Szluiner Grenz Infanterieregiments Nr .
Retrieve 20. Dezember 2004 Georgia State University .
Ein mäßiger Ausbruch von Tornados , die sich über weite Teile von Kansas , Oklahoma und Arkansas erstrecken .
Er besitzt eine Pistole mit silbernen Kugeln zum Schutz vor Vampiren und Werwölfen .
Einer der Engel , Scott Desroche , floh in den Schrank des Hausmeisters .
Zwei Spitfire flogen über Kopf und feuerten auf den Leuchtturm , der sofort sein Licht auslöste .
Die Thermodynamik irreversibler Prozesse und generalisierter Hydrodynamik , Kluwer Akademischer Verlag , Dordrecht .
Dies kann Hinterhalt oder Verfolgung Raub , manchmal nach Stalking die Beute .
Die Schnecke hatte zwei große , gepaarte Öffnungen , die Parietal Fenestrae , zwischen denen sich eine Mittellinie befand .
Als Jack Hallorann in einer Schneekatze ankommt , hinterlegt und ermordet er Hallorann in der Lobby und verfolgt dann Danny ins Heckenlabyrinthe .
Am 1. September griffen zwei Martinsyde Flugzeuge , die sich über Beersheba versammelten , einen deutschen Pfadfinder an , der später abstürzte .
Sideswipe gelobte Rache , und bei der Ankunft auf der Erde , verfolgt nach seiner Nemesis ohne Sorge für irgendwelche unschuldig im Kreuzfeuer .
Randolph Churchill behauptete , dass Macleod am 4. November fast zurückgetreten sei .
Im Gegensatz dazu wurde Hardy ' s dünnes Haar in Spieß-Locken auf seine Stirn geklebt und er spornte einen Zahnbürstenschnurrbart an .
Der " Darm " führte von dort zurück zum Pygidium .
Während des Gemetzels verlor das Bataillon fast seine gesamte Ausrüstung , während die meisten Truppen der Einkreisung entkamen .
Der Staat produziert Reis , Raps , Senf , Jute , Kartoffel , Süßkartoffeln , Bananen , Papaya , Areca-Nuss , Zuckerrohr und Kurkuma .
Die meisten Termiten bauen unterirdische Kolonien statt multifunktionale Nester und Hügel .
953 belagerten die Magyaren Cambrai , die all ihren Angriffen widerstanden .
Präsident Bill Clinton hielt eine Lobrede bei ihrem Grabgottesdienst .
Am Canterbury Leicestershire Foxes erzielte 214 von ihren 45 overs , Dinesh Mongia mit 62 .
Bibimbap umfasst Reis , Spinat , Rettich , Bohnensprossen .
Nachdem die Schulden in Höhe von 5 Millionen Dollar angesammelt worden waren , faltete sich die erste Inkarnation der Dips .
Der Dutchie ist ein kanadischer Donut , der von der Tim Hortons Kette popularisiert wird .
und Augst und Regensburg in Raetia ) , durch Einbeziehung der markanten zwischen den oberen Rändern des Rheins und der Donau .
Spatenstich begann im August 2007 auf dem neuen Sauk Village Municipal Center und Senior Citizen Center .
Beide Teams Quartiere profitierten von der Fülle der vorbei .
Biographisches Wörterbuch der Sozial- und Kulturanthropologie .
Bisher simulierten terrestrische Sender den ursprünglichen Soundtrack im Radio .
Die Überlebenden zogen sich in die Befestigungsanlagen von Vicksburg zurück .
Ein Unionsoldat schob seine Muskete in Forrest ' s Seite und feuerte , schlug ihn über die Hüfte und drang in die Nähe der Wirbelsäule ein .
Schließlich begann die NRA am 9. November einen allgemeinen Rückzug .
Im 14. und 15. Jahrhundert überfielen Beduinenstämme den größten Teil des Sudan und wanderten nach Butana , Gezira , Kordofan und Darfur .
Die Exposition von betrügerischen Aktivitäten führte zu einem raschen Rückgang der Ektoplasmen und Materialisierung séances .
Dennis Firestone ; am Vergasungstag zerstört und zurückgezogen .
Auf der Kampagne trugen die Chasseurs oft dunkelblaue Hosen .
George Zarnecki , 92 , polnischer Kunsthistoriker und Medievalist .
Mit Ausnahme eines Ausreißer Fragment in Kiew gefunden ; alle Kremhelme stammen aus England oder Skandinavien .
Der ehemalige Chicago Bears Quarterback Erik Kramer und ein Trainer in Phoenix , Arizona , haben Priorität , Kafka bei der Vorbereitung auf die NFL Scouting Combine zu helfen .
Thunder Jet fährt auf seinem Flaggschiff " Kongo " aus und trifft kurz darauf auf Rackos " Imperial Tiger " .
Dionysos setzt seine Bataillone sorgfältig ein und schikaniert seine Truppen .
Im Zweiten Weltkrieg diente er als Oberstleutnant .
Musharraf traf am 13. Oktober mit Präsident Rafiq Tarar zusammen , um über die Legitimierung des Putsches zu beraten .
Im Mai erreichte er zusammen mit Dmitri Tomaschewitsch die Halbzeit des Samarkand Challenger in Samarkand , Usbekistan .
Ananas Verwandtschaft mit Rufus widerlegt Amerikas falsche Vorstellungen von rassischer Reinheit .
Fred Kimble , Tanner , und Adam , Entenjäger aus Illinois , erfanden 1886 die Schrotflintendrossel .
Anwärter , entsetzt , ordnet für sie an , Großbritannien sofort zu verlassen .
Aletti fügte hinzu : " Sie verbindet pure Pop-Sensibilität mit Ehrgeiz , Verwundbarkeit , Freaktheit und außergewöhnlichem Geschick .
Mehrere hundert Mitglieder von Milliardären für Bush hielten einen Spott Gegenmarsch ab .
Doch Kardinal Giovanni Urbani schleppte Montini zurück zu seinem Sitz und murmelte : " Eminenz , schließe dich ein ! "
Die meistfrequentierte ist Harris Riverfront Park in der Innenstadt und Ritter Park in South Side .
Die Anhörung vor dem inkompetenten Inglewood und seinem Schreiber Jobson geht in Farce über .
Grayson hinterlegt schließlich Carrie in der Bathöhle und schlägt sie brutal , schnürt ihre Lippen und bricht ihre Knochen eins nach dem anderen .
Dies kann Sonar frustrieren , da ein Ton , der auf einer Seite der Thermocline entsteht , tendenziell durch die Thermocline gebogen oder gebrochen wird .
" Es wird so viel Spaß , in Ihrer Einfahrt träumen " , bemerkte er später .
2 Truppe und Kommandozentrale würden den Strandkopf sichern .
Am 5. Juni engagierten sich Außenfeldspieler Billy North und Jackson in einem Clubhaus-Kampf im Detroit Tiger Stadium .
Public Lynching and Mob Violence under Modi Government
Kanaan gewann später den Argent Mortgage Indy 300 auf dem Kansas Speedway und den Argent Mortgage Indy Grand Prix auf dem Infineon Raceway .
Die Walfänger nahmen wieder Blauwale , Flossen , Buckelwale und Spermienwale in der Antarktis und anderswo mit .
Phil beobachtet und missinterpretiert ihre Auseinandersetzungen , da er glaubt , dass Patrick Ben angreift .
Die Real Ghostbusters Folge " Banshee Bake a Cherry Pie ? "
Johan van Oldebarnevelt , Staatsmann des Niederländischen Aufstandes .
Ptarmigan , Haie , Krähe Amseln , Taube , Enten und andere Wildvögel werden in den Vereinigten Staaten verbraucht .
Eine Fußball-Weltmeisterschaft 2002 zwischen Australien und Uruguay am 20. November 2001 mit 84.656 Teilnehmern .
Anders als sein Film und Comic-Pendant benutzt Bullseye eine Handwaffe als Waffe .
Solche Ungerechtigkeiten wecken Ressentiments unter den Reihen der Polizei .
Frühe Kampagnen konzentrierten sich stark auf den Irakkrieg und Bushs Unpopularität .
Szent Istváns Kaplan führte einen letzten Segen aus , während die Crew von Tegetthoff auf ihren Decks auftauchte , um das sinkende Schiff zu grüßen .
Eveland gab 5 Treffer auf 7.1 Innings der Arbeit , und die Straftat erzielte 3 dank 2 RBIs von José Molina .
Spartak Belyaev , 93 , russischer theoretischer Physiker .
Als Mooney den Minion Marv auf Ivy entfesselt , versucht sie weg zu kommen .
Die drei Autos unterschieden sich nur in der Frontfascia , Heckstoßstange , Rücklichter und Rädern .
Mit der Truppe traten sie in Provinzhauptstädten des damaligen Russischen Reiches auf .
In der ersten Dezemberwoche hatte der Abriss der Logenmittelsitze begonnen .
Die Cayman Islands besitzen auch fünf endemische Unterarten von Schmetterlingen auf den Inseln .
Ein Midrash lehrte , dass ein Götzendiener Rabban Johanan ben Zakkai über die Rote Kuh befragte und seine Prozeduren mit Hexerei verglich .
Dies irrte Arkali Khan , ihren älteren Sohn und den Gouverneur von Multan .
Ein 80 mph Windstoß in Van Buren blies eine Scheune auf den Arkansas Highway 9 .
Louis lehnt ihre jüngsten Fortschritte , die Joanne ' s Gefühlen schaden , strikt ab .
Obturierringe für die Gewehre liefen aus , und die LAD musste sie aus dem Suet improvisieren .
2012 filmte das NBC-Musikdrama Smash dort mehrere Szenen .
Michael Schumacher und Jacques Villeneuve vied für den Titel in .
Der Ramayana-Text enthält mehrere regionale Renderings , Rezensionen und Unterrezensionen .
Bis August drückte die KPA die ROK und die achte US-Armee stetig nach Süden zurück .
Latin Historiography and Poetry in the Early Empire Generic Interactions .
Sechs kurze Tornados , zwischen F0 und F1 auf der Fujita-Skala , trafen den Staat innerhalb von Squall-Linien in den äußeren Regenbändern des Hurrikans Bob .
Jagjit Singh Chopra , 84 , indischer Neurologe , Komplikationen durch einen Schlaganfall .
Während des Konflikts feuerten Militante über 750 Raketen und Mörser aus Gaza auf Israel .
Er schoss sie zweimal mit seiner Schrotflinte an , zerriss Kelly ' s Hüfte und Oberschenkel .
Die abgetrennten Schwänze der Leopardengeckos können bis zu 20 Minuten schwingen .
Sie erwähnt einen wichtigen Punkt , dass er , wenn er isst , immer ein Stück Brot aufnimmt und damit die Krümel aufsaugt .
Die Crimson Creek Formation besteht aus Grauwacke mit tholeiitischem Basalt .
Umgeben und überzählig , übergibt Jones das Idol Belloq und entkommt .
Aber innerhalb der Geschichten , strumph war ein als übermäßig krassness und boorishness angesehen .
Während der Windeln fliegen Schmetterlinge zu einem der vielen Überwinterungsgebiete .
Am 2. Tag nominierte Adam Damien und Laura zur Räumung .
Dorothy jedoch bringt die beiden Nomaden dazu , den Prinzen von Ev zu enthüllen und ihre Freunde wiederherzustellen .
Der Begriff Megalithen wurde erstmals 1849 von Algernon Herbert geprägt .
Es wird in der Regel ausgelaugt und häufig silicifiziert .
Das Exil wurde für Inzest mit einer Tochter zugefügt ; für Inzest mit einer Stiefmutter oder für wiederholtes unkindliches Verhalten .
Trotz des vorübergehenden Anschlusses an Nazi-Deutschland überlebt es auch heute noch .
Alle ihre Mitbewohner nominierten sie gemeinsam für die Räumung .
Am 18. August randalierten 4.000 Streikende und ihre Unterstützer zwei Stunden lang außerhalb der Chicago-Lagerplätze und verursachten zahlreiche Verletzungen .
Als nächstes begegneten sie Galactus und dem Silver Surfer .
Petillia Flaschen. l. , eine Freifrau , die am heutigen Standort Mompeo in Latium begraben wurde .
Robert taucht auf und konfrontiert Anna mit Robin , der die Wahrheit überhört und davonläuft .
Frühe römische Inschriften an Diana feierten sie vor allem als Jägerin und Schutzpatronin von Jägern .
Als Henrys Nachfolger 1199 unerwartet starb , erbte John die Krone von England und behielt die Herrschaft von Irland .
Die Behauptungen von Robespierre ärgerten viele Anwesende , und es gab Schreie des " Diktators " !
In der Vergangenheit führte ein Irrtum manchmal zur falschen Übersetzung von " szlachta " als " Wachmann " statt " Adel " .
Lawrence schnitt Hadjis klassische Telekinese ab , um seine Fähigkeiten an realistischen Yogi-Praktiken auszurichten .
Joseon Niederlage bei Chilchonryang und Wiedereinsetzung von Admiral Yi
Negative Refraktion und Fokussierung können ohne Resonanzen oder direkte Synthese der Permittivität und Permeabilität erreicht werden .
Agha Mohammad Khan stritt später mit Jafar Qoli Khan , der sich selbst als der beste Erbe der Qajar Dynastie betrachtete .
National Association of Kanadians of Origins in India B.C .
Verity Stob , ein Technologie Kolumnist für Online-Zeitung The Register , schrieb eine Parodie von Torchwood namens Under Fackel Wood .
Dormammu verhöhnte dann Hood , indem er durch die Leichen sprach .
Untere Stufe hat rusticated Piers mit gestauchten Obstkappen zu Sturz .
Willkie lobte republikanische Kongressabgeordnete , um den Akt aufzuheben .
Einmal im neutraleren Zwölffingerdarm brechen Pankreasenzyme das schützende Glykoprotein ab .
Lafayette kehrte schnell in die Tuilerien zurück und entwaffnete die Adligen nach einer kurzen Pattsituation .
Doch die Badgers schlug schnell auf die Sicherstellung Start .
Eine Kugel ging durch seine Schulter , trennte die Nerven und riss ihm einen Schuss in die Kehle .
In den tiefen Schluchten gibt es Grotten , Täler , Schluchten und arroyos .
Yardley umgab den australischen Kapitän mit Feldzügen und Laker schlug dann seine Fledermaus dreimal in einem over .
Kurz danach inszenierte er seine eigene Performance und trat in den Bluebird pas de deux von der Dornröschen auf , als Partner von Lydia Kyasht .
Ab Juni , nach dem ersten Waffenstillstand , lehnte sich der Vorteil deutlich gegenüber den Israelis ab .
Kumarapala Abu Paramara Feudatorium Yashodhavala getötet Ballala in einer Schlacht , wie durch eine Mount Abu Inschrift bezeugt .
Charles Bettelheim , 92 , französischer marxistischer Ökonom und Historiker .
In der Hauptvoliere können Besucher Aras , Kuckucke , Reiher , Enten , Pudú und einen der größten Süßwasserfische , den Arapaima , sehen .
Darüber hinaus erneuerte Metternich , indem er den russischen Diplomaten Pozzo di Borgo diskreditierte , stattdessen den früheren Verdacht des Zaren auf ihn .
Zu den Protektoraten gehören der Nationalpark Ras Mohamed , das Zaranik-Protektorat und Siwa .
Er versuchte , seinen Verrat zu rechtfertigen , indem er an die loyalistische öffentliche Meinung appellierte , aber die Patrioten verurteilten ihn entschieden als Feigling und Turncoat .
Mary Queen of Scots trägt einen offenen französischen Kragen mit einem aufgesetzten Rupf unter einem schwarzen Kleid mit einem flared Kragen und weißem Futter .
Die Deutschen schlossen auch Seminare und Klöster und verfolgten Mönche und Nonnen .
Dieterich zog von Nebraska nach Sauk Village um .
Aratus beschreibt ihn , der den Nordpol umkreist und die beiden Bären hütet .
Los Guerreros und Team Angle begannen miteinander zu streiten .
Ziggler verlor das Rematch gegen Sheamus bei Payback .
Zusammen mit dem Schriftsteller George Sand entdeckte er die Serie der Wandteppiche Die Frau und das Einhorn , und arrangiert für ihre Erhaltung .
Dave Jacobs , ein ehemaliger Boxer , und Janks Morton freiwillig als Boxtrainer .
Jedoch würde er nicht wieder sculpt , bis er in Paris studierte .
Im August 1945 wurden alle Feindseligkeiten im Südwestpazifik eingestellt .
Nach Donald Trumps Wahl richtete sich die NRA eng an Trump aus .
Geiss beschuldigte Augstein und Habermas , " unseren wissenschaftlichen und politischen Pluralismus " bedroht zu haben .
So sprießen Nueva Ecijas frühe Handelssiedlungen entlang Flussufern .
Packers Punter Jon Ryan ' s nächste Punt ging nur 31 Meter auf die Packers ' s 48 Yard Line , aber R.W .
" Experimentelle und theoretische Modalanalyse eines Braced Tower " , M.A .
Rákóczi ' s Aktion wütete den neuen Großvizier des Osmanischen Reiches , Köprülü Mehmed Pascha , der seine Absetzung im Oktober 1657 ordnete .
Im April 2015 trat Navistar Defense President Bob Walsh zurück .
Er krümmte vor allem Beinspinnen , aber oft erfolgreich in mittleren Tempo .
Tragen Sie einen warmen Anzug , einen Beret , einen Regenmantel , ein gutes Paar genagelte Stiefel .
Rhea Perlman porträtiert Carla Tortelli , eine " weise , zynische " Cocktail-Kellnerin , die die Kunden schlecht behandelt .
Leanne erpresst Danny mit dem neuen Willen für £ 100.000 .
Das Weibchen dehnt seinen Eierstock in die Mantelhöhle der Muschel aus und legt seine Eier zwischen den Kiemenfilamenten ab .
Beide Vorderbeine , obwohl disartikuliert , sind meist vollständig , einschließlich eines vollständig exponierten rechten Humerus .
Das Zytoplasma der Eizelle bestimmt nicht nur das ZellSchicksal , sondern auch die dorsale / ventrale Achse .
Der Tuotuo ist einer von drei Hauptströmen des Yangtze .
Burke wollte als Whig nach der Extirpation des Jakobinismus in Frankreich keine absolute Monarchie mehr sehen .
Die Cubs band es in der dritten auf einem Triple von Ben Zobrist in Daniel Murphy klopfen .
Kongress der Solidarität des ländlichen Raums in Wierzchosławice , Geburtsort von Wincenty Witos .
Trotz allem schmuggelten einige amerikanische Kaufleute .
Die beiden schwedischen Armeen verbanden sich und konfrontierten die Imperialen bei der Schlacht von Wittstock .
Tagliabue ernannte den Rheumatologen Elliot Pellman zum Vorsitzenden des Ausschusses .
Die meisten englischen Dialekte haben die gleichen 24konsonanten Phoneme .
Frazier angeblich " umarmte es " , obwohl er später erwiderte , Ali entschuldigte sich nur bei einer Zeitung , nicht bei ihm .
Abschnitt von 10 Zug arbeitete mit der 2 / 4 Commando Squadron , während 9 Zug führte Belästigungsoperationen im Westen in der Nähe von Joangeng .
Experimentelle Psychologen akzeptieren , wie die meisten Wissenschaftler , den Begriff Determinismus .
Ein Pferd und Reiter , der " Header " , lassos eine laufende Lenkung Hörner , während das andere Pferd und Reiter , der " Heeler " , lassos die beiden Hinterbeine des Lenkers .
Manning beendete mit 351 vorbeifahrenden Werften , drei Touchdowns und zwei Interzeptionen .
Viele Zellstoff-Action-Helden wie Swashbuckler trugen Umhänge .
Damit beleuchtet sie Ashoka als humaner ehrgeiziger und leidenschaftlicher , sowohl mit Größe als auch mit Fehlern .
Der Service erreichte Mount Kisco und Croton Falls , im Februar 1847 , bzw. am 1. Juni 1847 .
Die Rollen eines Fili beinhalteten das Rezitieren traditioneller Lore , die Lobpreisung des Königs und sättigende Ungerechtigkeiten innerhalb des Königreichs .
Die Seattle Seahawks , Dallas Cowboys , Green Bay Packers , New England Patriots und Denver Broncos führten alle die NFL mit 12 Siegen an .
Erysichthon gerät schließlich in seinen endlosen Hunger und verschlingt sich selbst .
Drei Oregon trägt nur vernetzt die Enten sieben Meter .
Dieser Spitzname blieb bis weit ins Jahr 2013 bestehen .
Doktor Octopus ist sogar in der Lage , seine Tentakel herum zu wirbeln , um kleine Geschosse wie Kugeln abzulenken .
Der Wahlkreis Inverness umfasste das ehemalige parlamentarische Edinburgh von Inverness .
Die Unterkunft wurde an Bord verrohrt , mit Sideboys auf dem Achterdeck stationiert .
Obwohl Siegfried dies öffentlich leugnet , beschließen Hagen und Brünhild Siegfried zu morden , und Gunther willigt ein .
1801 wurde er auch für seine sechs Streichquartette und das Ballett The Creatures of Prometheus bekannt .
Lokale Rüstungen nähen fest gewalzte Papiere , die mit Quranischen Versen in die Baumwollschichten eingeschrieben sind , und Kapok .
Im Mai , nach dem Verlust bei den Masters in Madrid , Monaco besiegte Stan Wawrinka bei den Rome Masters , zog aber im Viertelfinale .
Im Mai 1973 wurde der Cabstar mit einem komplett neuen Frontclip einem weiteren Facelift unterzogen .
Tellur weist weniger Neigung zum anionischen Verhalten auf als gewöhnliche Nichtmetalle .
Dies zeigt deutlich , wie diese Formulierung auf mehr als zwei Ergebnisse verallgemeinert werden kann , wie im multinationalen omialen Protokoll .
NBC nahm Ende August / Anfang September , zeitlich bis zur DVD-Veröffentlichung von Saison 1 , die Ausstrahlung von Wiederholungen wieder auf .
Am 11. Dezember bei Final Resolution , Young versäumte es , den Titel von Robbie E in einem Rematch wiederzugewinnen .
Er ist egoistisch , aber nirgends so arrogant und pompös in seiner Werberede wie einige seiner anderen Inkarnationen .
Kräuter und Gewürze variieren je nach Region und umfassen Fleur de sel , Kräuter de Provence , Estragon , Rosmarin , Majoran , Lavendel , Thymian , Fenchel und Salbei .
Jason Marsden präsentiert seine Rolle als Bart Allen in der Young Justice Folge " Bloodlines " .
Die Fahrzeuge waren dazu bestimmt , Aufklärungseinheiten von vier Kavallerie-Husarregimentern auszustatten .
Spanien und Großbritannien regierten Florida sukzessive , bis Spanien es 1821 an die Vereinigten Staaten abtrat .
Die ersten und zweiten XIs spielen in der North Staffordshire und South Cheshire League .
1754 synthetisierte der deutsche Chemiker Andreas Sigismund Marggraf Aluminiumoxid , indem er Lehm in Schwefelsäure kochte und anschließend Kali zugab .
Möglicherweise wohnten alte südarabische Sprecher von der Bada-Ina bis zum Zafār .
Die Sendung lief auf PBS im Dezember 2007 und wurde über Neujahr 2009 neu übertragen .
Johannssons Geschwindigkeit von 225,547 mph stürzte Fittipaldi aus .
Zu den wichtigsten Minderheiten gehören Hui , Koreaner , Mandschus und Mongolen .
Mit Truppen des 75. Bataillons begann er , Panzer und APCs zu bewaffnen , zu tanken und zu retten .
Ross leitete das Friedensnobelpreiskonzert 2008 in Oslo , Norwegen .
Später an diesem Tag , vier RAF Spitfire von der gleichen Staffel begleitet von sieben Hawker Tempests von No .
The Ghosts of Gerard Stiles and Daphne Harridge Haunt Collinwood , Folge 1071 bis 1109 .
Im Viertelfinale verlor sie den ungarischen Veteranen und späteren Champion Gréta Arn .
Fünf Minuten später war er wieder dabei , diesmal in die Backline und fuhr in der Verteidigung der Pumas durch einen Spalt .
Die ersten genetisch veränderten Ornamente kommerzialisierten veränderte Farbe .
Norman Osborn schimpft später die Kapuze dafür , dass die wiederbelebten Bösewichte als die Avengers in ihrem Kampf gegen den Punisher posieren .
Die Tour hat weltweit mehr als 300 Millionen Dollar eingespielt .
William E. Willkie , Die Kardinalschützer Englands .
Sienna wächst Gefühle für Darren und sie küssen , obwohl Darren später wieder mit Nancy vereint , nachdem sie erholt .
Die Hootenanny Singers und die Hep Stars kreuzten manchmal Wege während der Tour .
Unstimmigkeit mit dem alttestamentlichen Konzept des Jenseits
Am Sabbat trugen die chassidischen Rebben traditionell eine weiße bekishe .
Die Boote fuhren von Faaa weiter zu anderen Gemeinden auf Tahiti wie Arue und Teahupoo .
In seiner Konfrontation mit Leah verhöhnt sie ihn , weil er sein jüngeres Selbst zerstört hat .
Die Buckeyes standen zuletzt während der Saison 1972 den Goldenen Bären gegenüber .
Die ersten drei Fahrer ritten leicht , bis die Pfeife auf ihm .
und durch Spaniens Desinteresse an der Rückkehr flüchtiger Sklaven .
Nach Tagesanbruch griffen die Marine-Einheiten Ichikis überlebende Truppen an und töteten viele weitere .
Es mischt komplexe Instrumente wie " The Black Page " und humorvolle Songs wie " Titties and Beer " .
Und sowohl der erste als auch der zweite Passover hatten Vorrang vor dem Sabbat .
Das neu gestaltete Drehbuch hat Brainiac in den " ultimativen Computer " des Films verwandelt .
" , " No Regrets " , " Summertime " und " Billie ' s Blues " .
1828 verwendete der amerikanische Lexikograph Noah Webster ausschließlich die Aluminiumschrift in seinem American Dictionary of the English Language .
Am 11. März 2015 drohte das EIIL gegenüber Lautsprechern , jeden Zivilbevölkerung zu enthaupten , der versucht Mosul zu verlassen .
Zwischen April und August 1989 tourte sie durch Großbritannien , wo sie in zwanzig Theatern auftrat .
Viele befreite Sklaven dienten als Freiwillige in der Bundesarmee als Teamkollegen , Köche , Wäscherinnen und Arbeiter und schließlich als Soldaten .
" Eisensteins Montage " , Humanities Advanced Technology and Information Institute , University of Glasgow .
Im alten Polen konnte ein Adeliger nur eine Adlige heiraten , da die Vermählung zwischen " Kasten " mit Schwierigkeiten behaftet sein könnte .
Westlich des Badger Head Inlier befindet sich die Port Sorell Formation , eine tektonische Mischung aus Sedimenten und Dolerit .
Tractate Gittin in der Mischna , Tosefta , Jerusalem Talmud und Babylonian Talmud interpretiert die Gesetze der Scheidung in
Die östlichen Grauberge verzweigten sich in zwei Sporen , zwischen denen sich die verdorrte Heide , eine Behausung der Drachen , befand .
Schließlich räumte sie Obama die Nominierung am 7. Juni ein .
Chroniken von England , Schottland und Irland , 1587 Jones , Emrys .
Ricimer zankte dann mit Anthemius und belagerte ihn in Rom , das im Juli 472 nach weiteren Monaten des Hungers kapitulierte .
Die Geologie Boliviens umfasst eine Vielzahl verschiedener Lithologien sowie tektonische und sedimentäre Umgebungen .
František Čapek , 93 , tschechischer Kanufahrer , Olympiasieger C1 10.000 m Goldmedaillengewinner 1948 , Herzkrankheit .
Der Synchroring dreht sich aufgrund des Reibungsdrehmoments aus der Kegelkupplung leicht .
Day Courts Diana mit Gesang und Gedicht Rezitationen und Diana Tänze .
Seine Masten ragten aus dem Wasser heraus , als Überlebende in Boote kroch und für das Ufer ruderte .
Parachute Regiment Air Landing Regiment Oxfordshire and Buckinghamshire Light Infantry Officer
Auf 500 Meter feuerten S24 , S16 , S18 und S15 jeweils einen Torpedo .
Für durchgehende Geländer auf langen Balkonen kann es mehrere Nägel und Tandemkappen geben , um die Nägel abzudecken .
Rhythmus " , " Alte Lederlunge " und " Mr. Steel Tonsillen " .
Eine weitere gemischte Party zu Pferd von US Army Topographen , Jäger , Pfadfinder , etc .
Zum Beispiel werden Strophe , Antistrophe und Epode der Odeform oft in eine oder mehrere Strophen getrennt .
Ein überbreiter Haftbefehl führt nicht notwendigerweise zu völliger Ungültigkeit .
Rubens machte Merkur einen Eindruck von Unwahrheit , indem er seine Figur illustrierte , die einen Kaduceus hinter seinem Oberschenkel versteckt .
711 Chuck Oakes und sein Chuck Wagon Boys Waltz Of Virginia / Hey !
Unter einem unbewussten Bulkhead gefiedert , wurde Arcee von Airachnid bedroht .
Die Times kommentierte , dass Wodehouse Ehre signalisierte " offizielle Vergebung für seine Kriegsundiskretion ....
Routledge Enzyklopädie der Sozial- und Kulturanthropologie .
Dies leitete eine kurze Korrespondenz zwischen den beiden ein , die schnell zu politischem Groll abstieg .
Seine wilden Winde entblätterten fast die gesamte Vegetation , zersplitterten oder entwurzelten Tausende von Bäumen und dezimierten die üppigen Regenwälder der Insel .
Die Reichen und der Adel stützten sich auf Privatlehrer .
Wann immer er im Gefängnis landet , rettet Eddie ihn ständig aus .
Kurz nach der Veröffentlichung tourte Meshuggah mit Entombed durch Skandinavien .
Es endet etwa 6600 ft , wo es die Quelle des Big Muddy Creek , ein Nebenfluss des Flusses Klickitat wird .
Am Nachmittag des 8. August zeigte Superintendent Sébeille Clovis Dominici den US-Karabiner M1 , der mit offensichtlichem Schock einstürzte .
Wie Archie von Wolfe in The Doorbell Rang sagt , " misstraute er allen Maschinen komplizierter als einer Schubkarre " .
Das Justizministerium behauptete , die Untersuchung fehlte " Staatsanwaltschaft Verdienst " .
Alaskan Veruntreuung , Fälschungen , Verhaftungen und Verfahren
Von der Empfängnis bis Santiago bemannten die Dissawe von Matara und seine Lascarine den Vorhang .
Elektrolytkondensatoren altern , wenn der Elektrolyt verdampft .
Chip impales Jennifer durch den Magen mit einem Pool Skimmer , aber Jennifer entfernt es und entkommt , während Chip stirbt .
Bald begannen die Japaner die Schlacht von Sangju mit ihren Arquebusen ; die Koreaner antworteten mit ihren Pfeilen , die hinter ihren Zielen zurückblieben .
Wireless Access Points und ARP Poisoning von Bob Fleck und Jordan Dimov , 2001 oder später .
Er kämpft nur gegen Ritter und Adlige und verachtet die gemeinsamen Krieger .
Fox Entertainment Chef Sandy Grushaw propagiert offen Brisco und seinen Star Bruce Campbell .
Britische Schmalspurbahn Chatham Historic Dockyard Fort Darnet
Es braucht eine spezielle Reihe von Nincompoops , um das abzuziehen " .
Gastón Parra Luzardo , 75 , venezolanischer Akademiker und Bankier , nach langer Krankheit .
Die NRA lehnte auch die Ernennung von Sonia Sotomayor und Elena Kagan als Richter des Obersten Gerichtshofs ab .
Antony appellierte an Caesars Göttlichkeit und gelobte Rache an seinen Mördern .
Die Taktik funktionierte , als die Perser die Elefanten zurückzogen , konterkarierten die Muslime .
Die ARU verschwand und die traditionellen Eisenbahnbrüder überlebten , vermeideten aber Streiks .
Am Abend des 29. Mai , in der Nähe von Santa Barbara , ein Reporter Ormiston blauen Chrysler Limousine Coupé verfolgt , und markiert es nach unten .
Phoenix wurde zum nota bene der Kritiker und zum bête noire der Apologeten .
Demosthenes beschuldigte die anderen Gesandten der Venalität und der Erleichterung Philipps Pläne mit ihrer Haltung .
Während der endgültigen Belagerung der Eroberung haben die Spanier Tenochtitlan praktisch gleichgemacht .
" The Timerman Affair , Argentina , and the United States " , in Crime and Social Justice 20 , 1983 , S .
Surabaya ist berühmt für Rawon , Rojak cingur , Semanggi , Lontong Balap , Muscheln satay , Muscheln und Reiskuchen .
Als sich der Schwertfisch näherte , feuerte Bismarck ihre Hauptbatterie auf Sheffield und sprang mit ihrem zweiten Salvo über den Kreuzer .
Wieder gelingt es Ch ' rell zu überleben und schwört Rache gegen die Schildkröten , die ihn seines Triumphes beraubt haben .
Der Ball traf jedoch das kurze Beinfeld in den Schienen .
Im Juni dominierten Angriffe auf Flugplätze und Positionen der britischen Armee , aber am 14. Juni unterstützten sie Angriffe auf den starken Konvoi .
Charley Bowser , ein Pitt-Ende , trainierte an seiner Alma Mater .
In Woche 1 absolvierte Palmer 26 von 34 Pässen und 2 passierende Touchdowns gegen die Cleveland Browns .
Beim Greatest Royal Rumble am 27. April verteidigte Hardy erfolgreich die United States Championship in einem Rematch gegen Mahal .
Sigma Phi Epsilon hat 2007 sein Kapitel als allgemeine soziale Brüderlichkeit gechartert .
Es stellt auch die " Untrennbarkeit " von Weißen und Schwarzen in Amerika dar .
Zwei deutsche Chemiker , Robert Bunsen und Gustav Kirchhoff , entdeckten Cäsium 1860 mit der neu entwickelten Methode der Flammenspektroskopie .
Garibaldi , frustriert über Untätigkeit durch den König , und Borsten über wahrgenommene Büschel , organisierte ein neues Venture .
Auch auf dem steilen Stac Lee gibt es einen kleinen Bothy , der auch von Vögeln benutzt wird .
Der Name der Insel " Sula Sgeir " selbst leitet sich von Ssula ab , was " gannet " bedeutet , und der Old Norse skerr , ein Skerry .
1888 tourte sie durch Italien , Ägypten , die Türkei , Schweden , Norwegen und Russland .
Pflanzenknödel aus Puerto Rico werden gerieben und mit Maisstärke , Ei , Gewürzen , Petersilie und Anattoöl vermischt .
Ähnliche Umbauten wurden auf Atlantic Causeway , Contender Bezant und Astronomer durchgeführt .
Während der Kampagne zeigte die Sardar bemerkenswerte Tapferkeit und Geschicklichkeit .
Kapitän einer Galeere beim Sieg Carlo Zenos gegen die Genuesen .
Die verschiedenen Druckmaschinen strömten Broschüren , Trakte , Katechismen , Übersetzungen von Evangelien , ins Malaiische oder ins Chinesische .
In Jugoslawien spielte er in Richard Thorpes Film The Tartars and Veljko Bulajićs Battle of Neretva .
Der Siegerclip zeigte , dass Attenborough die Mimikry-Fähigkeiten des großartigen lyrebird beobachtete .
Während ihrer Besetzung Westbengalen verübten die Marathas Gräueltaten gegen die lokale Bevölkerung .
Sowohl die Drag Queens als auch lesbische Feministinnen in Anwesenheit blieben in Abscheu .
Die Urfassung von 1869 wurde am 16. Februar 1928 im Staatlichen Akademischen Theater für Oper und Ballett uraufgeführt .
Polymerasen sind Enzyme , die Polynukleotidketten aus Kerntriphosphaten synthetisieren .
Nijinska hatte bewundernswert den Geist der Gebirgsbüffelei ergriffen .
Staffel 1 ausgestrahlt am 1. Oktober 2013 ; Staffel 2 am 29. September 2014 .
Die Gesellschaft glaubte , dass theatralische Shows für Indianer demoralisierend und erniedrigend seien und entmutigte Indianer aus dem Wilden Westen .
Cranmer promulgierte die neuen Lehren durch das Gebetbuch , die Predigten und andere Veröffentlichungen .
Cotton Mather schrieb , dass Teufel um puritanische Siedlungen schwärmten " wie die Frösche Ägyptens " .
Ebenso kritisierten Platon und Aristoteles die demokratische Herrschaft als zahlenmäßig überwiegende arme Tyrannisierung der Reichen .
Institut Sains Terapan dan Teknologi Surabaya , ein öffentliches Institut für Computerprogrammierung .
David Peel Dankbar tot Die Sekhmet Hypothese Zihuatanejo Projekt
1989 Matsutani , Atelier Nishinomiya , Nishinomiya , Japan .
Der Jeddo Tunnel , der im 20. Jahrhundert eine Kollierie entwässerte , entleerte sich in Nescopeck Creek .
Kaffee und Koffein können die Magen-Darm-Motilität und Magensäuresekretion beeinflussen .
Gaius Claudius M. f. C. n. Canina , Konsul 285 und 273 v. Chr .
In der Episode von Raw vom 9. Juli " marschierte Rhyno " zusammen mit anderen ECW-Wrestlern in den WWF ein .
Auf dem zerstörten Kirk von Lady , in der Nähe von Overbister auf Sanday , Orkney , befinden sich die Devil ' s Fingermarks , die als parallele Rillen in die Parapette des Kirks eingeschnitten sind .
Das Netz der Bunker und Pillenboxen begünstigte den Verteidiger sehr .
Im Oktober 2012 überfielen argentinische Behörden Scheich .
Die 1977 Gremlin hatte neu gestaltet Scheinwerfer , Kühlergrill , Heckklappe und Fascia .
4 Squadron bestand aus sieben operativen Gloster Gladiatoren auf der Rashid Air Base .
Im Hauptquartier von The Nightrise schlägt ein vom Taifun aufgenommener hölzerner Sampan in das Büro des Vorsitzenden ein und tötet den Vorsitzenden ironischerweise .
Blaines Nominierung entfremdete viele Republikaner , die Blaine als ehrgeizig und unmoralisch betrachteten .
Sie organisierte Repressalien und Massenhinrichtungen der Magnaten , die an Bélas Blendung teilnahmen .
Omomyide starben etwa 30 mya , während Adapiformen bis etwa 10 mya überlebten .
Zum Beispiel kann divalenter Schwefel Kohlenwasserstoffe , kationische Zentren und Radikale stabilisieren .
Negan schlägt dann Spencer den Magen und tötet ihn fast augenblicklich .
Die Urteile von Ceiler überstiegen die vorgeschriebenen Mindestsätze .
Einige Konservative beklagten den Übergang einer pastoralen Welt , in der das Ethos des Adligen den Respekt der unteren Klassen gefördert hatte .
Behan beschäftigt mehrere der Gesetzlosen als Sheriffs Stellvertreter während ihrer Verfolgung der stellvertretenden USA
Der Philanthrope und seine Tochter geben eigentlich Valjean und Cosette .
Nach seinem Abschluss in Dartmouth absolvierte Webster eine Ausbildung bei Salisbury Rechtsanwalt Thomas W. Thompson .
Rajneesh kritisierte auch Mahatma Gandhi und die Orthodoxie der Hauptreligionen .
An den Ärmeln verbleiben zwei Streifen , an der Taille ein Streifen .
Am 7. Juni segelten Dickens , Catherine und Anne Brown aus New York für
Im Rahmen des Platt-Änderungsantrags mieteten die USA die Guantánamo Bay Naval Base von Kuba .
Dies wütete die Kodavas und sie fingen an , die muslimische Garnison in Madikeri zu unterdrücken .
Er versucht dann , auf die Beine der letzten Mongolen zu schlagen , aber die Mongolin springt zurück und schlägt ihm das Bein .
Das Gehirn besteht aus dem Großhirn , dem Hirn und dem Kleinhirn .
Sie kämpften in der Schlacht von Medjez Plain und in der Schlacht von Banana Ridge und in der Schlacht von Djebel bou Aoukaz .
Das Mori Memorial Institute for Urban Strategies belegte Wien unter den Top Ten ihres Global Power City Index 2016 .
Prithvi Narayan Shah gehörte zur neunten Generation der Shahs in Gorkha .
An den Südseiten der Grate dominieren Kiefer .
Das Plattenepithel und die oberflächliche Lamina propria bilden die Stimmschleimhaut , die als Schwingungsbestandteil in der Phonation dient .
Kandyans überfallen häufig diese foraging Parteien und schneiden die Nachzügler ab .
Sie fühlte sich gespült , hob ihren oberen Knopf auf , drückte ihren Beret ab , klammerte sich an ihre Brust und stürzte auf den Tisch .
Velagunder wirft Adol leicht beiseite und zerstört sein Schwert .
Lyren vermehrten sich durch die gleichen Gebiete , so weit östlich wie Estland .
Der Unterputz des Parks umfasst Cossack Fyls Wacholder , Tatar Fyls Geißblatt , und andere Pflanzen .
Die Konföderierten drückten langsam die 1. Brigade zurück .
Ein weiterer Tornado fegte durch den East Rand in Tembisa und Kempton Park , nordöstlich des O. R. Tambo International Airport .
Ecab , Uaymil , Chetumal grenzt an die Karibik .
Teamkapitän Eddie Mahan erhält 4 Touchdowns und tritt fünf zusätzliche Punkte .
Die Mississippi Freedom Democratic Party setzte einige Anwärter ein .
Ende Juni 2008 wurde der Malibu Pier nach 10 Millionen Dollar an Renovierungsarbeiten wieder eröffnet .
In Games of Deception folgt der Graviton Bludgeon ' s Agent Bugbite und mehreren Decepticons auf die Erde , wo sich die Autobots mit Grimlock verbinden .
Portugiesische Söldner glänzten manchmal in dieser Rolle , während sie von den Kriegsherren des Kongo eingesetzt wurden .
Alle Reformseminare weihen Frauen und offen LGBT-Personen zu Rabbinern und Kantoren .
Brunhild erzählt Gudrun all das Unglück , das ihr widerfahren wird .
Im Mai 1784 rebellierten lokale Aleuten auf Amtschitka gegen die russischen Händler .
Die Löwen-Größen Joe Kapp und Linebacker Tom Brown wurden in die Canadian Football Hall of Fame aufgenommen .
1975 7. Internationale Biennale für Tapisserie , Lausanne , Schweiz .
Sydney Evangelicals waren schockiert über die Ausstattung , die Liturgie und den gekleideten Männerchor , der sie als " skandalös " und " papistisch " betrachtete .
Dingoes töten Echidnas bekanntlich , indem sie sie auf den Rücken rollen und ihre Unterbäuche angreifen .
Kerscha nannte die Predigten eine " energische Denunziation der Nazi-Unmenschlichkeit und Barbarei " .
Unter dem Deckmantel der Wolke eilten die Patrolmen William Traine und James Herron mit Radbahren , um Levy und Smith zu holen .
Darüber hinaus verursachen Stimulanzien wie Kokain , Methamphetamin und sogar Koffein Austrocknung und trockenen Mund .
Mit der Wiederaufnahme ihrer Patrouillen gelang es der Verfassung , am 27. März die amerikanische Schleuderneutralität und wenige Tage später das französische Schiff Carteret zurückzuerobern .
Die Nachricht von diesen Ereignissen kippte schließlich die Sepoys rund um Delhi in offene Rebellion .
Das erste Ministerkabinett trat am 26. Dezember 1918 zurück .
Viele Rebellen und Plünderungen ereigneten sich im 18. Jahrhundert in Mazedonien , entweder unter der Führung türkischer Gesetzgeber , Janissaries oder Hajduks .
Wurmloch Wodo kann Wurmlöcher über die Galaxie öffnen .
Auf der dritten Schicht hat er die Glasur und die endgültigen Verkleidungen der Farbe gelegt .
Sie entlud ihre Munition , entlud ihren Treibstoff bei Merry Point und legte sich bei Baker # 8 auf der Navy Yard in Pearl Harbor an .
Die Preußen gehörten dem Usedom Husar Regiment Nr. an
Đorđević selbst warf Flyer über Belgrad , Novi Sad , Zrenjanin , Šabac und Pančevo aus einem Flugzeug von Flieger und Disc Jockey Zoran Modli .
Im Halbfinale ging Williams gegen überraschende Semifinalistin im Qualifikator Simona Halep .
Sieht eine bewaffnete Trawler , die auf ihr , der U-Boot-Taube , lagert .
Die alten Chinesen betrachteten Würzigkeit als Grundgeschmack .
Er erreicht schließlich Sicherheit und begegnet Magneto ' s überlebenden Acolytes .
Sie verdiente hohe Noten , die sich im Französisch- und Englischunterricht auszeichneten .
1862 dezimierte das Massaker von Tonkawa den Stamm .
Trio d ' anches oder Trio aus Schilf besteht aus Oboe , Klarinette und Fagott .
Sie versammelten als Lords Spiritual den Erzbischof von Canterbury und fünfzehn englische und vier walisische Bischöfe sowie neunzehn Äbte .
Die Bande flüchtete mit $ 2.000 Bargeld in den zweiten Raub und nahm Schutz in verlassenen Kabinen auf der Kemp Plantation südlich von St. Joseph , Louisiana .
Die irischen Siedler kommen kurz nach den Loyalisten 1840 aus Nordirland an .
Zu den Vulkanen gehören Dacite Breccia und kleine Reste hornblende andesite Lavaströme , die mit Tuffs verbunden sind , die 450 m dick sind .
Das Fort Concho Museum erwarb 1946 das Schulhaus und restaurierte es .
Motorlastwagen mit Staub verkleidet , fuhr auch nach Westen über den Sand und pulverförmigen Erde .
