"""The units that units.py knows, one a line.

name | dimension | factor to the base unit | symbols (case counts) | words (case does not)

A symbol with a star takes the prefixes listed behind it; a word with a star takes their names (kilo,
milli ...). Words get a plural "s" by themselves. Several lines with one spelling are its readings, the
likeliest first: "pounds" are a mass before they are money. Base units: metre, kilogram, second, month,
ampere, mole, degree (angle), byte, and one for each temperature scale and currency, since none of these
converts exactly.
"""

UNITS = """
m | length | 1 | m*nμumcdkh м*кмсд | meter* metre* metro* mètre* mètres* metros* metri Meter метр* метра* \
метров* метры* метрах* 米 公尺 メートル 미터
nmi | length | 1852 | nmi NM | nautical_mile 海里
in | length | 0.0254 | in | inch inches pulgada pulgadas pouce pouces Zoll дюйм дюйма дюймов 英寸 インチ \
인치
ft | length | 0.3048 | ft | foot feet pies pied pieds Fuß фут фута футов 英尺 フィート 피트
yd | length | 0.9144 | yd yds | yard yarda yardas 码
mi | length | 1609.344 | mi | mile milla millas Meile Meilen миля мили миль 英里 マイル 마일
ly | length | 9460730472580800 | ly | light_year lightyear 光年
au | length | 149597870700 | AU | astronomical_unit 天文单位
pc | length | 30856775814913673 | | parsec
Å | length | 1/10000000000 | Å Å | angstrom ångström
micron | length | 1/1000000 | | micron microns
rod | length | 5.0292 | | rod rods
furlong | length | 201.168 | | furlong
km | length | 1000 | | klick 公里 千米
cm | length | 1/100 | | 厘米 公分 センチ センチメートル 센티미터
dm | length | 1/10 | | 分米
mm | length | 1/1000 | | 毫米 公釐 ミリ ミリメートル 밀리미터
μm | length | 1/1000000 | | 微米
nm | length | 1/1000000000 | | 纳米
km | length | 1000 | | キロメートル キロ 킬로미터
里 | length | 500 | | 里 华里
尺 | length | 1/3 | | 尺
寸 | length | 1/30 | | 寸
kg | mass | 1 | | kilo kilos кило 千克 公斤 キログラム 킬로그램
g | mass | 1/1000 | g*μumcdk gm gms gr г*км | gram* gramme* gramo* gramos* Gramm* grammo grammi grama \
gramas грамм* грамма* граммов* 克 グラム 그램
mg | mass | 1/1000000 | | 毫克
t | mass | 1000 | t | tonne metric_ton metric_tonne tonelada toneladas Tonnen тонна тонны тонн 吨 公吨 \
トン
ton | mass | 907.18474 | | ton short_ton us_ton
t | mass | 1000 | | ton tons
long_ton | mass | 1016.0469088 | | long_ton imperial_ton
lb | mass | 0.45359237 | lb lbs lbm | pound libra libras livre livres Pfund фунт фунта фунтов 磅
oz | mass | 0.028349523125 | oz ozs | ounce onza onzas onces Unze Unzen унция унции унций 盎司
st | mass | 6.35029318 | | stone stones
ct | mass | 1/5000 | | carat carats karat karats 克拉
grain | mass | 0.00006479891 | gr | grain grains
斤 | mass | 1/2 | | 斤 市斤
两 | mass | 1/20 | | 两
amu | mass | 0.00000000000000000000000000166053906660 | amu | amu
s | time | 1 | s*nμum sec secs с мс | second* segundo* segundos* seconde* secondes* Sekunde* Sekunden* \
secondo secondi секунда* секунды* секунд* 秒 秒钟 초
min | time | 60 | min mins мин | minute minuto minutos minuti Minuten минута минуты минут 分钟 分鐘 分 분
h | time | 3600 | h hr hrs ч | hour hora horas heure heures Stunde Stunden час часа часов 小时 小時 时 钟头 \
時間 시간
d | time | 86400 | d | day día días jour jours Tag Tage Tagen giorno giorni dia dias день дня дней сутки \
суток 天 日 昼夜 일
week | time | 604800 | wk wks | week semana semanas semaine semaines Woche Wochen settimana settimane \
неделя недели недель 周 星期 週 週間 주
fortnight | time | 1209600 | | fortnight
month | month | 1 | mo mos | month mes meses mois Monat Monate Monaten mese mesi mês месяц месяца месяцев \
月 个月 個月 か月 ヶ月 개월
year | month | 12 | yr yrs | year year_old years_old año años ans année années Jahr Jahre Jahren anno anni \
ano anos год года лет 年 岁 歳 년 살
decade | month | 120 | | decade década décadas décennie décennies Jahrzehnt Jahrzehnte 十年
century | month | 1200 | | century centuries siglo siglos siècle siècles Jahrhundert Jahrhunderte 世纪
millennium | month | 12000 | | millennium millennia
L | length 3 | 1/1000 | L*μumcdhk l*μumcdk ℓ л*м | liter* litre* litro* litros* Liter litri литр* литра* \
литров* 升 公升 リットル 리터
mL | length 3 | 1/1000000 | | 毫升 ミリリットル 밀리리터
cm^3 | length 3 | 1/1000000 | cc ccm | cc
gal | length 3 | 0.003785411784 | gal gals | gallon galón galones Gallone Gallonen галлон 加仑
qt | length 3 | 0.000946352946 | qt qts | quart
pt | length 3 | 0.000473176473 | pt pts | pint pinta pintas 品脱
cup | length 3 | 0.0002365882365 | | cup taza tazas tasse tasses
fl_oz | length 3 | 0.0000295735295625 | floz | fluid_ounce fl_oz fl_ounce
fl_oz | length 3 | 0.0000295735295625 | oz ozs | ounce
tbsp | length 3 | 0.00001478676478125 | tbsp Tbsp tbsps | tablespoon
tsp | length 3 | 0.00000492892159375 | tsp tsps | teaspoon
bbl | length 3 | 0.158987294928 | bbl | barrel_of_oil
bushel | length 3 | 0.03523907016688 | bu | bushel
ha | length 2 | 10000 | ha | hectare hectárea hectáreas Hektar гектар гектара гектаров 公顷
a | length 2 | 100 | | 公亩
ft^2 | length 2 | 0.09290304 | sqft | sqft
m^2 | length 2 | 1 | sqm | sqm
acre | length 2 | 4046.8564224 | ac | acre acres 英亩
亩 | length 2 | 2000/3 | | 亩 畝
mph | length time -1 | 0.44704 | mph MPH mi/h | mph
km/h | length time -1 | 5/18 | kph kmph kmh KPH | kph
ft/s | length time -1 | 0.3048 | fps | fps
kn | length time -1 | 463/900 | kn kt kts | knot
c | length time -1 | 299792458 | | speed_of_light
N | length mass time -2 | 1 | N*mμukM | newton* Newton ньютон ньютона ньютонов 牛 牛顿
dyn | length mass time -2 | 1/100000 | dyn | dyne
lbf | length mass time -2 | 4.4482216152605 | lbf | pound_force pounds_force pounds_of_force
J | length 2 mass time -2 | 1 | J*mμukMG | joule* Joule julio julios джоуль джоулей 焦 焦耳
kJ | length 2 mass time -2 | 1000 | | 千焦
cal | length 2 mass time -2 | 4.184 | cal*k | calorie* caloría calorías калория калорий 卡 卡路里
kcal | length 2 mass time -2 | 4184 | Cal | 千卡 大卡
erg | length 2 mass time -2 | 1/10000000 | erg ergs | erg
eV | length 2 mass time -2 | 0.0000000000000000001602176634 | eV*mkMGT | electron_volt electronvolt \
电子伏特
Wh | length 2 mass time -2 | 3600 | Wh*kMG | watt_hour
kWh | length 2 mass time -2 | 3600000 | KWH kwh | 千瓦时 度电
Btu | length 2 mass time -2 | 1055.05585262 | Btu BTU BTUs | btu
W | length 2 mass time -3 | 1 | W*mμukMG | watt* vatio vatios ватт ватта 瓦 瓦特
kW | length 2 mass time -3 | 1000 | | 千瓦
hp | length 2 mass time -3 | 745.69987158227022 | hp HP | horsepower
Pa | length -1 mass time -2 | 1 | Pa*hkMG | pascal* паскаль 帕 帕斯卡
kPa | length -1 mass time -2 | 1000 | | 千帕
atm | length -1 mass time -2 | 101325 | atm | atmosphere 大气压
bar | length -1 mass time -2 | 100000 | bar | bar bars
mbar | length -1 mass time -2 | 100 | mbar | millibar
mmHg | length -1 mass time -2 | 133.322387415 | mmHg | mm_hg
torr | length -1 mass time -2 | 101325/760 | Torr torr | torr
psi | length -2 mass | 0.45359237/0.00064516 | psi PSI | psi
psi | length -1 mass time -2 | 6894.757293168361336722673 | psi PSI | psi
A | current | 1 | A*mμuk | ampere* amp* amperio amperios 安 安培
V | current -1 length 2 mass time -3 | 1 | V*mμukM | volt* voltio voltios вольт 伏 伏特
Ω | current -2 length 2 mass time -3 | 1 | Ω*mkM Ω | ohm* ohmio ohmios ом 欧 欧姆
°C | celsius | 1 | °C ℃ degC | celsius degree_celsius degrees_celsius degree_c degrees_c deg_c deg_celsius \
centigrade degree_centigrade degrees_centigrade grados_celsius degrés_celsius grad_celsius 摄氏度 攝氏度
°C | celsius | 1 | C | c_degree
C | current time | 1 | C*mμunk | coulomb* culombio culombios 库 库仑
°F | fahrenheit | 1 | °F ℉ degF F | fahrenheit degree_fahrenheit degrees_fahrenheit degree_f degrees_f \
deg_f deg_fahrenheit grados_fahrenheit degrés_fahrenheit grad_fahrenheit 华氏度
F | current 2 length -2 mass -1 time 4 | 1 | F*mμunp | farad* 法拉
K | kelvin | 1 | K °K | kelvin degree_kelvin degrees_kelvin 开尔文
T | current -1 mass time -2 | 1 | T mT | tesla 特斯拉
H | current -2 length 2 mass time -2 | 1 | mH | henry* henries 亨利
Wb | current -1 length 2 mass time -2 | 1 | Wb | weber
Hz | time -1 | 1 | Hz*kMGT hz | hertz* герц 赫兹
rpm | angle time -1 | 6 | rpm RPM | rpm
mol | amount | 1 | mol*mμunk mols | mole* моль 摩尔 摩
cd | luminous | 1 | cd | candela
lm | luminous | 1 | lm | lumen lumens
lx | length -2 luminous | 1 | lx | lux
dB | decibel | 1 | dB db | decibel decibels 分贝
° | angle | 1 | ° º deg degs | degree grado grados degré degrés Grad градус градуса градусов grau graus \
gradi 度
°C | celsius | 1 | ° deg | degree grado grados degré degrés Grad градус градуса градусов grau graus gradi \
度
°F | fahrenheit | 1 | ° deg | degree 度
arcmin | angle | 1/60 | arcmin ′ | minute arc_minute arcminute minute_of_arc minutes_of_arc 分 角分
arcsec | angle | 1/3600 | arcsec ″ | second arc_second arcsecond second_of_arc seconds_of_arc 角秒
rad | radian | 1 | rad rads | radian radián radianes Radiant радиан радиана радиан 弧度
rev | angle | 360 | rev revs | revolution revolución revoluciones
bit | data | 1/8 | bit bits | bit бит 比特
B | data | 1 | B | byte байт байта байтов 字节
kB | data | 1000 | KB kB | kilobyte
MB | data | 1000000 | MB Mbyte | megabyte 兆字节
GB | data | 1000000000 | GB Gbyte | gigabyte 吉字节
TB | data | 1000000000000 | TB | terabyte
PB | data | 1000000000000000 | PB | petabyte
KiB | data | 1024 | KiB | kibibyte
MiB | data | 1048576 | MiB | mebibyte
GiB | data | 1073741824 | GiB | gibibyte
TiB | data | 1099511627776 | TiB | tebibyte
kbit | data | 125 | kbit kbits Kbit Kbits | kilobit
Mbit | data | 125000 | Mbit Mbits | megabit
Gbit | data | 125000000 | Gbit Gbits | gigabit
bps | data time -1 | 1/8 | bps | bps
kbps | data time -1 | 125 | kbps Kbps | kbps
Mbps | data time -1 | 125000 | Mbps mbps | mbps
Gbps | data time -1 | 125000000 | Gbps gbps | gbps
unit | unit | 1 | | unit unidad unidades unité unités Einheit Einheiten единица единицы единиц 单位 个单位 \
个单位长度 单位长度 単位
USD | usd | 1 | $ USD US$ | dollar buck us_dollar u.s_dollar american_dollar usd dólar dólares доллар \
доллара долларов Dollar 美元 美金 ドル 달러
cent | usd | 1/100 | ¢ ￠ | cent centavo centavos цент цента центов 美分
cent | eur | 1/100 | ¢ | cent euro_cent eurocent centime centimes céntimo céntimos Cent
penny | gbp | 1/100 | | penny pence
penny | usd | 1/100 | | penny pennies
GBP | gbp | 1 | £ GBP ￡ | pound pound_sterling pounds_sterling british_pound gbp quid libras \
libras_esterlinas livres livre_sterling Pfund фунт фунта фунтов 英镑
EUR | eur | 1 | € EUR | euro eur евро 欧元
JPY | jpy | 1 | JPY JP¥ 円 | yen 日元 日圆 円 엔
CNY | cny | 1 | ¥ ￥ CNY RMB | yuan rmb renminbi 元 块 块钱 元钱 圆 人民币 元人民币
JPY | jpy | 1 | ¥ ￥ |
万元 | cny | 10000 | | 万元 萬元
千元 | cny | 1000 | | 千元
亿元 | cny | 100000000 | | 亿元
万吨 | mass | 10000000 | | 万吨
角 | cny | 1/10 | | jiao 角 毛 毛钱
分 | cny | 1/100 | | fen 分 分钱
INR | inr | 1 | ₹ INR Rs Rs. | rupee rs inr rupia rupias 卢比 रुपये रुपए
paisa | inr | 1/100 | | paisa paise
RUB | rub | 1 | ₽ RUB | ruble rouble рубль рубля рублей руб 卢布
копейка | rub | 1/100 | | kopeck копейка копейки копеек коп
KRW | krw | 1 | ₩ KRW | 원 韩元
CAD | cad | 1 | CAD C$ CA$ | canadian_dollar 加元
AUD | aud | 1 | AUD A$ AU$ | australian_dollar 澳元
HKD | hkd | 1 | HKD HK$ | 港元 港币
CHF | chf | 1 | CHF | swiss_franc Franken
franc | franc | 1 | | franc
peso | peso | 1 | MXN MX$ | peso
BRL | brl | 1 | BRL R$ | reais
rand | zar | 1 | ZAR | rand
TRY | try | 1 | ₺ TRY | lira liras
ILS | ils | 1 | ₪ ILS | shekel
NGN | ngn | 1 | ₦ NGN | naira
PHP | php | 1 | ₱ PHP |
THB | thb | 1 | ฿ THB | baht
VND | vnd | 1 | ₫ VND | dong đồng
PLN | pln | 1 | PLN zł | zloty złoty złotych
SEK | sek | 1 | SEK kr | krona kronor kroner krone
MYR | myr | 1 | RM MYR | ringgit
SGD | sgd | 1 | SGD S$ | singapore_dollar
"""

PREFIX_SYMBOLS = {
    "p": -12,
    "n": -9,
    "μ": -6,
    "u": -6,
    "m": -3,
    "c": -2,
    "d": -1,
    "h": 2,
    "k": 3,
    "M": 6,
    "G": 9,
}
PREFIX_SYMBOLS |= {"T": 12, "м": -3, "с": -2, "д": -1, "к": 3}
PREFIX_WORDS = {
    "nano": -9,
    "micro": -6,
    "milli": -3,
    "mili": -3,
    "centi": -2,
    "zenti": -2,
    "deci": -1,
    "dezi": -1,
}
PREFIX_WORDS |= {"deca": 1, "deka": 1, "hecto": 2, "kilo": 3, "quilo": 3, "mega": 6, "giga": 9}
PREFIX_WORDS |= {"нано": -9, "микро": -6, "милли": -3, "санти": -2, "деци": -1, "кило": 3, "мега": 6}

SQUARED_BEFORE = "square sq squares quadrat 平方 квадратный квадратных квадратные квадратного кв 제곱"
CUBED_BEFORE = "cubic cu cub kubik 立方 кубический кубических кубические кубического куб 세제곱"
SQUARED_AFTER = (
    "squared cuadrado cuadrados cuadrada cuadradas carré carrés carrée carrées quadrado quadrados "
    "quadrati quadrato"
)
CUBED_AFTER = "cubed cúbico cúbicos cúbica cúbicas cube cubes cubi cubo"
PER = "per each por par pro 每 毎 в"
PER_BETWEEN = "a an"  # "miles an hour": only between two units

# Words that stand between a number and a counted thing in Chinese and Japanese.
COUNT_WORDS = frozenset(
    "个個只隻本张張条條支枝头頭辆輛棵朵名人位件台臺块塊把根颗顆粒次组組种種倍页頁箱袋瓶盒双雙对對套间間场場幅面户戶家座"
    "句枚匹艘份行排段封题題道步层層盆筐束串副架盏艇株匙杯碗包篇首滴片桶圈趟遍回班队幢栋口下顶門门节節级級つ冊条"
)

CURRENCY_SIGNS = frozenset("$£￡€¥￥₹₽₩₺₪₦₱฿₫") | frozenset(
    "US$ C$ CA$ A$ AU$ HK$ S$ R$ MX$ JP¥ RM Rs Rs. USD GBP EUR JPY CNY RMB INR RUB KRW CAD AUD HKD CHF "
    "SGD BRL".split(" ")
)
